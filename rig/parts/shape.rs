//! Tests of `runner/shape.rs` and `runner/queue.rs`.

use crate::runner::guest::Manner;
use crate::runner::queue::{Queue, Times, documented};
use crate::runner::rounds::Crew;
use crate::runner::scenario::Scenario;
use crate::runner::shape::{Shape, groups, ports};

/// A scenario whose machine has these lines.
fn scenario(name: &str, machine: &str) -> Scenario {
    let text = format!(
        "description = ''\ninjected = ''\n[machine]\n{machine}\n[[check]]\nrun = 'x'\n[[check.expect]]\nexit = [0]"
    );
    Scenario::parse(name, &text).expect("is valid")
}

fn drive(name: &str, more: &str) -> String {
    format!("[[machine.drive]]\nname = '{name}'\nmib = 1\n{more}\n")
}

#[test]
fn machines_that_differ_in_what_can_be_plugged_in_share_a_boot() {
    let one = scenario("one", &format!("modules = ['raid0']\n{}", drive("a", "bytes_per_second = 5")));
    let two = scenario("two", &(drive("b", "interface = 'virtio'") + &drive("c", "")));
    assert_eq!(Shape::of(&one), Shape::of(&two));
    assert_eq!(ports(&[&one, &two]), 2);
}

#[test]
fn what_is_decided_at_power_on_keeps_machines_apart() {
    let usual = Shape::of(&scenario("usual", &drive("a", "")));
    let switch = "[[machine.switch]]\nid = 'sw'\nports = 1\n";
    for other in [
        "cpus = 1".to_owned(),
        "memory = '2G'".to_owned(),
        "kernel = 'pcie_port_pm=force'".to_owned(),
        "qemu = ['-device', 'edu']".to_owned(),
        "hides_hypervisor = true".to_owned(),
        "cpus = 1\ninstruction_shift = 3".to_owned(),
        drive("a", "interface = 'sata'"),
        switch.to_owned() + &drive("a", "port = 'sw.0'"),
    ] {
        assert_ne!(usual, Shape::of(&scenario("other", &other)), "{other}");
    }
    // Drives that are there from the beginning have their limits from the beginning.
    let fixed = |rate: u32| drive("a", &format!("interface = 'sata'\nbytes_per_second = {rate}"));
    assert_ne!(Shape::of(&scenario("slow", &fixed(1))), Shape::of(&scenario("fast", &fixed(2))));
}

#[test]
fn a_worker_stays_with_its_shape_and_helps_only_where_it_is_worth_a_boot() {
    let (usual, other) = (drive("a", ""), "memory = '2G'");
    let all = [scenario("a", &usual), scenario("b", other), scenario("c", &usual), scenario("d", &usual)];
    let references: Vec<&Scenario> = all.iter().collect();
    assert_eq!(groups(&references).len(), 2);
    let times: Times =
        [("a", 10.0), ("b", 5.0), ("c", 15.5), ("d", 15.0)].map(|(n, t)| (n.to_owned(), t)).into();
    let queue = Queue::new(&references, &times);
    assert_eq!(queue.work(), 45.5);
    let name = |shape| queue.next(shape).map(|next| next.scenario.name.clone());
    let (first, second) = (Shape::of(&all[0]), Shape::of(&all[1]));
    // The longest group and in it the longest first; the next worker takes the other group, then helps with 10 s of work no more.
    assert_eq!(name(None).as_deref(), Some("c"));
    assert_eq!(name(None).as_deref(), Some("b"));
    assert_eq!(name(Some(&first)).as_deref(), Some("d"));
    assert_eq!(name(Some(&second)), None);
    assert_eq!(name(Some(&first)).as_deref(), Some("a"));
    assert_eq!(name(Some(&first)), None);
}

#[test]
fn counted_instructions_take_what_scenarios_leave_over_that_need_the_host() {
    let counted = scenario("counted", "cpus = 1\ninstruction_shift = 3");
    let (usual, mut alone) = (scenario("usual", ""), scenario("alone", ""));
    alone.alone = true;
    let show = |scenarios: &[&Scenario], jobs| {
        let crew = |crew: &Crew<'_>| {
            let names: Vec<&str> = crew.scenarios.iter().map(|one| one.name.as_str()).collect();
            (names.join(" "), crew.workers, crew.manner == Manner::LeftOver)
        };
        Crew::rounds(scenarios, jobs)
            .iter()
            .map(|round| round.iter().map(crew).collect())
            .collect::<Vec<Vec<_>>>()
    };
    let is = |names: &str, workers, left_over| (names.to_owned(), workers, left_over);
    assert_eq!(
        show(&[&counted, &usual, &alone], 3),
        [vec![is("usual", 3, false)], vec![is("alone", 1, false), is("counted", 2, true)]]
    );
    // One at a time is one at a time, and without a scenario that needs the host there is nothing to leave over.
    for (scenarios, jobs, alone) in
        [(vec![&counted, &usual, &alone], 1, "alone"), (vec![&counted, &usual], 3, "")]
    {
        let second = vec![is(alone, 1, false)];
        assert_eq!(show(&scenarios, jobs), [vec![is("counted usual", jobs, false)], second]);
    }
}

#[test]
fn a_machine_without_a_run_takes_times_from_the_one_that_was_documented() {
    let table = "scenario  injected  time  result\n\
        eio       EIO beyond 64 MiB   device:nvme0n1   –   76.3 MB/s   –   5 s  pass\n\
        12/65   4:01  cache  page cache  memory:ram  –  –  –  22 s  pass\n\
        bad       x  –  7 s  FAIL\n65 passed, 0 failed\n";
    let times: Times = [("eio", 5.0), ("cache", 22.0)].map(|(name, time)| (name.to_owned(), time)).into();
    assert_eq!(documented(table), times);
    assert!(documented(include_str!("../../docs/rig-run.md")).len() > 50);
}
