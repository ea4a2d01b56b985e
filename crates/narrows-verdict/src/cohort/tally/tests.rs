use super::super::Outlier;
use super::super::testing::{found, host};
use super::*;

fn tally(hosts: impl IntoIterator<Item = Host>) -> Tally {
    let mut tally = Tally::default();
    hosts.into_iter().for_each(|host| tally.add(&host));
    tally
}

fn narrow(name: &str, code: Code) -> Host {
    Host { findings: vec![found(code, Severity::Limit, 4)], ..host(name, 4) }
}

fn names(outliers: &[Outlier]) -> Vec<(&str, &str)> {
    outliers.iter().map(|outlier| (outlier.host.as_str(), outlier.aspect.as_str())).collect()
}

#[test]
fn hosts_of_a_model_with_the_same_finding_are_a_group_with_the_number_of_all() {
    let healthy = (0..409).map(|number| host(&format!("a{number:03}"), 8));
    let narrow = (0..37).map(|number| narrow(&format!("b{number:03}"), Code::SlotLimited));
    let groups = tally(healthy.chain(narrow)).groups();
    let [group] = groups.as_slice() else { panic!("{groups:?}") };
    assert_eq!((group.affected, group.of, group.model.as_deref()), (37, 446, Some("R740xd")));
    assert_eq!((group.place.as_str(), group.state.as_deref()), ("slot 3", Some("8 GT/s x4")));
    assert_eq!(group.hosts, ["b000", "b001", "b002", "b003", "b004"]);
}

#[test]
fn one_host_alone_is_no_group_and_two_devices_in_one_place_are_one_host() {
    let mut twice = narrow("a", Code::SlotLimited);
    twice.findings.push(found(Code::SlotLimited, Severity::Limit, 4));
    assert!(tally([twice.clone(), host("b", 8)]).groups().is_empty());
    let groups = tally([twice, narrow("b", Code::SlotLimited)]).groups();
    assert_eq!(groups.iter().map(|group| group.affected).collect::<Vec<_>>(), [2]);
}

#[test]
fn faults_come_before_limits_and_many_before_few() {
    let fault = |name| Host { findings: vec![found(Code::AerErrors, Severity::Fault, 8)], ..host(name, 8) };
    let limited = ["c", "d", "e"].map(|name| narrow(name, Code::SlotLimited));
    let shared = ["f", "g"].map(|name| narrow(name, Code::ChipsetShared));
    let groups = tally([fault("a"), fault("b")].into_iter().chain(shared).chain(limited)).groups();
    let codes: Vec<Code> = groups.iter().map(|group| group.code).collect();
    assert_eq!(codes, [Code::AerErrors, Code::SlotLimited, Code::ChipsetShared]);
}

#[test]
fn a_width_that_nine_in_ten_others_do_not_have_is_an_outlier() {
    let fleet = |healthy: usize| {
        let healthy = (0..healthy).map(|number| host(&format!("a{number}"), 8));
        tally(healthy.chain([host("odd", 4)])).outliers()
    };
    let [outlier] = &fleet(9)[..] else { panic!("{:?}", fleet(9)) };
    assert_eq!((outlier.host.as_str(), outlier.aspect.as_str()), ("odd", "link_width"));
    assert_eq!((outlier.value.as_deref(), outlier.usual.as_deref()), (Some("x4"), Some("x8")));
    assert_eq!((outlier.same, outlier.of, outlier.place.as_deref()), (9, 10, Some("slot 3")));
    // 8 of 9 is less than 90 %.
    assert!(fleet(8).is_empty());
}

#[test]
fn firmware_is_compared_too_and_hosts_of_unknown_model_are_not() {
    let fleet = |model: Option<&str>| {
        tally((0..12).map(|number| {
            let mut host = host(&format!("a{number:02}"), 8);
            host.model.product = model.map(str::to_owned);
            host.bios = Some(if number == 5 { "1.0" } else { "2.0" }.to_owned());
            host
        }))
        .outliers()
    };
    assert_eq!(names(&fleet(Some("R740xd"))), [("a05", "bios")]);
    assert!(fleet(None).is_empty());
}

#[test]
fn another_device_in_the_slot_is_compared_with_its_own_kind() {
    let hosts = (0..12).map(|number| {
        let mut host = host(&format!("a{number:02}"), if number == 0 { 16 } else { 8 });
        if number == 0 {
            host.links[0].device = Some("10de:1eb8".to_owned());
        }
        host
    });
    assert!(tally(hosts).outliers().is_empty());
}

#[test]
fn a_finding_that_few_have_or_few_lack_is_an_outlier_and_says_it_once() {
    let few = (0..20).map(|number| match number {
        3 => narrow("a03", Code::LinkWidthDegraded),
        _ => host(&format!("a{number:02}"), 8),
    });
    let outliers = tally(few).outliers();
    assert_eq!(names(&outliers), [("a03", "link_width_degraded")]);
    assert_eq!((outliers[0].same, outliers[0].of), (19, 20));
    let most = (0..20).map(|number| match number {
        3 => host("a03", 4),
        _ => narrow(&format!("a{number:02}"), Code::SlotLimited),
    });
    let outliers = tally(most).outliers();
    assert_eq!(names(&outliers), [("a03", "slot_limited")]);
    assert_eq!((outliers[0].value.as_deref(), outliers[0].usual.as_deref()), (None, Some("found")));
}

#[test]
fn a_link_that_sleeps_is_no_outlier() {
    let hosts = (0..12).map(|number| {
        let mut host = host(&format!("a{number:02}"), 8);
        if number == 0 {
            host.links[0].speed = Some("2.5 GT/s".to_owned());
            host.findings = vec![found(Code::PowerSave, Severity::Info, 8)];
        }
        host
    });
    assert!(tally(hosts).outliers().is_empty());
}

#[test]
fn the_sum_counts_each_host_once_by_its_worst_finding() {
    let mut both = narrow("a", Code::SlotLimited);
    both.findings.push(found(Code::AerErrors, Severity::Fault, 4));
    let mut info = host("c", 8);
    info.findings = vec![found(Code::DeviceLimited, Severity::Info, 8)];
    let hosts = [both, narrow("b", Code::SlotLimited), info, Host::failed("d", "empty")];
    let wanted =
        Summary { hosts: 4, unreadable: 1, with_faults: 1, with_limits: 1, clean: 1, infos: 1, models: 1 };
    assert_eq!(tally(hosts).summary(), wanted);
}
