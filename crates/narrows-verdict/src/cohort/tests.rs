use super::testing::{found, host};
use super::*;
use crate::{Code, Severity};

#[test]
fn a_model_is_named_by_product_and_by_board_where_the_product_is_a_family() {
    let name = |product: Option<&str>, board: Option<&str>| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let model = Model { vendor: None, product: owned(product), board: owned(board) };
        model.name().map(str::to_owned)
    };
    assert_eq!(name(Some("PowerEdge R740xd"), Some("0YWR7D")).as_deref(), Some("PowerEdge R740xd"));
    assert_eq!(name(Some("Super Server"), Some("X11DPi-N")).as_deref(), Some("X11DPi-N"));
    assert_eq!(name(Some("Super Server"), None).as_deref(), Some("Super Server"));
    assert_eq!(name(None, Some("X99-A")).as_deref(), Some("X99-A"));
    assert_eq!(name(None, None), None);
}

#[test]
fn the_state_of_a_link_says_what_is_known() {
    let link = |speed: Option<&str>, width| Link {
        address: String::new(),
        place: String::new(),
        device: None,
        width,
        speed: speed.map(str::to_owned),
    };
    assert_eq!(link(Some("8 GT/s"), Some(4)).state().as_deref(), Some("8 GT/s x4"));
    assert_eq!(link(None, Some(4)).state().as_deref(), Some("x4"));
    assert_eq!(link(Some("8 GT/s"), None).state().as_deref(), Some("8 GT/s"));
    assert_eq!(link(None, None).state(), None);
}

fn with(findings: Vec<Found>, width: u8) -> Host {
    Host { findings, ..host("a", width) }
}

fn limited() -> Found {
    found(Code::SlotLimited, Severity::Limit, 4)
}

#[test]
fn what_is_new_is_worse_and_what_is_gone_is_not() {
    let (before, now) = (with(vec![], 8), with(vec![limited()], 4));
    let changes = changes_since(Some(&before), &now);
    assert_eq!(changes.findings, [Change::New]);
    assert!(changes.is_worse(Some(&before), &now));
    assert_eq!(
        changes.links.iter().map(|link| link.before.as_deref()).collect::<Vec<_>>(),
        [Some("8 GT/s x8")]
    );
    let back = changes_since(Some(&now), &before);
    assert_eq!((back.findings.len(), back.gone.len()), (0, 1));
    assert!(!back.is_worse(Some(&now), &before));
}

#[test]
fn what_is_the_same_is_not_worse_and_a_limit_that_became_a_fault_is() {
    let before = with(vec![limited()], 4);
    let same = changes_since(Some(&before), &before);
    assert_eq!((same.findings.as_slice(), same.gone.len(), same.links.len()), (&[Change::Same][..], 0, 0));
    assert!(!same.is_worse(Some(&before), &before));
    let now = with(vec![found(Code::SlotLimited, Severity::Fault, 4)], 4);
    let changes = changes_since(Some(&before), &now);
    assert_eq!(changes.findings, [Change::Changed]);
    assert!(changes.is_worse(Some(&before), &now));
    let reworded = with(vec![Found { summary: "other".to_owned(), ..limited() }], 4);
    let changes = changes_since(Some(&before), &reworded);
    assert_eq!(changes.findings, [Change::Changed]);
    assert!(!changes.is_worse(Some(&before), &reworded));
}

#[test]
fn a_host_of_which_nothing_is_known_now_has_lost_nothing() {
    let before = with(vec![limited()], 4);
    assert_eq!(changes_since(Some(&before), &Host::failed("a", "broken")), Changes::default());
    // Nothing was known: all is new.
    let changes = changes_since(Some(&Host::failed("a", "broken")), &before);
    assert_eq!(changes.findings, [Change::New]);
    assert!(changes.is_worse(None, &before));
}

#[test]
fn what_only_one_look_knows_of_a_link_is_no_change() {
    let (before, mut now) = (with(vec![], 8), with(vec![], 8));
    now.links[0].speed = None;
    assert!(changes_since(Some(&before), &now).links.is_empty());
    assert!(changes_since(Some(&now), &before).links.is_empty());
    now.links[0].device = Some("8086:0001".to_owned());
    now.links[0].width = Some(4);
    assert!(changes_since(Some(&before), &now).links.is_empty(), "it is another device");
}
