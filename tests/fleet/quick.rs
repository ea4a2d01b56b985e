//! A shared wire and a healthy layout in a minute, for every run of the tests: `make fleet-quick`. What this machine carries
//! between its namespaces is measured first, and layouts are as slow as it needs. A wrong answer while the processors were full tells
//! nothing: the layout is made again, and if it stays like that, it is said.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::kinds::{CAP, Dice, Layout, READS, Wanted, first_seed, healthy, judged, print_heading, trunk};
use super::lab::{Ran, skip};
use super::limits::is_unable;
use super::{idle_in_window, idle_while, turn};

const NAME: &str = "a_limit_and_a_healthy_layout_are_answered_right";
/// A free layout carries so many times what clients may read, so that its processors have room.
const ROOM: f64 = 3.0;
/// Rates are divided by one of these.
const SLOWER: [u64; 3] = [1, 2, 4];
/// With less than this share of the processors idle, those that measure wait for them.
const IDLE: f64 = 0.15;
/// How often a layout is made whose answer tells nothing.
const TRIES: usize = 3;
/// No layout is begun later. Some 25 s each: the debug build is pushed to each host, over links as slow as the layout's.
const LAST: Duration = Duration::from_secs(110);

/// In MB/s, what four clients read where nothing is in the way.
fn carried() -> f64 {
    let layout = Layout::new(4, 0, &["memory", "64M"]);
    let ran = layout.run("free", &format!("{READS} --duration 2s"));
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    ran.json()["points"][0]["bytes_per_second"].as_f64().expect("has a rate") / 1e6
}

/// What came of a layout.
enum Answer {
    Right,
    Wrong(String),
    /// The answer was not right, and this share of the processors was idle.
    Nothing(f64),
}

type Make = fn(&mut Dice) -> (Layout, Ran, Wanted);

fn answer(name: &str, make: Make, mut dice: Dice) -> Answer {
    let ((layout, ran, wanted), whole) = idle_while(|| make(&mut dice));
    let idle = idle_in_window(&layout.lab, "server-0001", &ran).unwrap_or(whole);
    let why = match ran.status {
        Some(0 | 1) => judged(name, &ran, &wanted),
        _ => Some(format!("{name}: {ran:?}")),
    };
    eprintln!("{name:12} processors {:.0} % idle", idle * 100.0);
    match why {
        None => Answer::Right,
        Some(why) if idle >= IDLE => Answer::Wrong(why),
        Some(_) => Answer::Nothing(idle),
    }
}

#[test]
fn a_limit_and_a_healthy_layout_are_answered_right() {
    if is_unable(NAME) {
        return;
    }
    let _turn = turn();
    let begin = Instant::now();
    let able = carried();
    let Some(slower) = SLOWER.into_iter().find(|by| able >= ROOM * CAP as f64 / *by as f64) else {
        let least = ROOM * CAP as f64 / SLOWER[SLOWER.len() - 1] as f64;
        return skip(
            NAME,
            &format!(
                "this machine carries {able:.0} MB/s between its namespaces now, and {least:.0} are needed"
            ),
        );
    };
    let seed = first_seed();
    eprintln!("seed {seed}; a free layout carries {able:.0} MB/s, rates are divided by {slower}; MB/s");
    print_heading();
    let layouts: [(&str, Make); 2] = [("trunk", trunk), ("healthy", healthy)];
    let mut wrong = Vec::new();
    for (name, make) in layouts {
        let asked = || (begin.elapsed() < LAST).then(|| answer(name, make, Dice::new(seed, slower)));
        match first_that_tells(asked) {
            Ok(None) => {}
            Ok(Some(why)) => wrong.push(why),
            Err(why) => skip(NAME, &format!("{name}: {why}")),
        }
    }
    eprintln!("{:.0} s", begin.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the first answer that tells something; else why none does. `ask` gives none where the time is up.
fn first_that_tells(ask: impl Fn() -> Option<Answer>) -> Result<Option<String>, String> {
    let mut idle = Vec::new();
    for _ in 0..TRIES {
        match ask() {
            Some(Answer::Right) => return Ok(None),
            Some(Answer::Wrong(why)) => return Ok(Some(why)),
            Some(Answer::Nothing(share)) => idle.push(format!("{:.0} %", share * 100.0)),
            None => break,
        }
    }
    match idle.as_slice() {
        [] => Err("not asked: those before it took all the time".to_owned()),
        idle => Err(format!(
            "not known: the answer was another one, with {} of the processors idle",
            idle.join(", ")
        )),
    }
}

#[test]
fn an_answer_that_tells_nothing_is_asked_again_and_said() {
    let asked = |answers: Vec<Answer>| {
        let answers = RefCell::new(answers.into_iter());
        let found = first_that_tells(|| answers.borrow_mut().next());
        (found, answers.into_inner().count())
    };
    let nothing = || Answer::Nothing(0.02);
    let wrong = || Answer::Wrong("other".to_owned());
    assert_eq!(asked(vec![Answer::Right, wrong()]), (Ok(None), 1));
    assert_eq!(asked(vec![wrong(), Answer::Right]), (Ok(Some("other".to_owned())), 1));
    assert_eq!(asked(vec![nothing(), Answer::Right]), (Ok(None), 0));
    assert_eq!(asked(vec![nothing(), wrong()]), (Ok(Some("other".to_owned())), 0));
    let (found, left) = asked(vec![nothing(), nothing(), nothing(), Answer::Right]);
    assert!(found.is_err_and(|why| why.contains("2 %, 2 %, 2 % of the processors idle")));
    assert_eq!(left, 1);
    assert!(asked(Vec::new()).0.is_err_and(|why| why.starts_with("not asked")));
}
