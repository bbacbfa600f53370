//! Names that no server is asked for, and those that look like them.

use super::*;

#[test]
fn names_of_the_own_network_are_asked_for_even_below_a_top_level_domain_that_is_not_in_the_dns() {
    let own = ["svc.cluster.local", ""].map(str::to_owned).to_vec();
    let mut scene = Scene::new(|settings| settings.own_domains = own);
    scene.submit(&["web.svc.cluster.local", "printer.local", "esvc.cluster.local"]);
    let asked: Vec<String> = scene.sent().iter().map(|sent| text_in(&sent.3)).collect();
    assert_eq!(asked, ["web.svc.cluster.local"]);
    let none = Err(FailureKind::NameNotFound);
    assert_eq!(
        scene.answers(),
        [("printer.local".to_owned(), none), ("esvc.cluster.local".to_owned(), none)]
    );
}

#[test]
fn some_names_need_no_question() {
    let mut scene = Scene::new(|_| ());
    scene.submit(&["127.0.0.1", "[::1]", "a..b", "localhost"]);
    assert!(scene.sent().is_empty());
    let results: Vec<_> = scene.answers().into_iter().map(|(_, result)| result).collect();
    assert_eq!(results, [Ok(1), Ok(1), Err(FailureKind::NameBad), Ok(1)]);
}
