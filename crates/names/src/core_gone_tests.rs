//! Servers that are unreachable, for a while or for good.

use super::*;

/// Answers all queries that are sent now.
fn answer_all(scene: &mut Scene, rcode: Rcode) {
    for (socket, _, _, message) in scene.sent() {
        scene.core.receive(socket, &reply(&message, rcode, u8::from(rcode == Rcode::NOERROR)), scene.now);
    }
}

/// A scene with these servers, each of which has answered.
fn scene_of_servers_that_answered(servers: &[&str]) -> Scene {
    let servers = servers.iter().map(|server| server.parse().unwrap()).collect();
    let mut scene = Scene::new(|settings| (settings.servers, settings.rotate) = (servers, true));
    let before: Vec<String> = (0..200).map(|n| format!("before{n}.example")).collect();
    scene.submit(&before.iter().map(String::as_str).collect::<Vec<_>>());
    (0..10).for_each(|_| answer_all(&mut scene, Rcode::NOERROR));
    assert_eq!(scene.answers().len(), 200);
    scene
}

/// Advances so many hundredths of a second, in which these sockets refuse queries and others reply with this
/// code.
fn while_gone(scene: &mut Scene, hundredths: u32, gone: &[SocketId], others: Rcode) -> usize {
    let mut questions = 0;
    for _ in 0..hundredths {
        for (socket, _, _, message) in scene.sent() {
            questions += 1;
            if gone.contains(&socket) {
                scene.core.fail(socket, "connection refused", scene.now);
            } else {
                let answer = reply(&message, others, u8::from(others == Rcode::NOERROR));
                scene.core.receive(socket, &answer, scene.now);
            }
        }
        scene.now += SECOND / 100;
        scene.core.expire(scene.now);
    }
    questions
}

fn submit_names(scene: &mut Scene, count: u32) {
    let names: Vec<String> = (0..count).map(|n| format!("n{n}.example")).collect();
    scene.submit(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_resolver_that_is_started_again_costs_no_name() {
    for (servers, gone) in [(&["192.0.2.1:53"][..], &[1][..]), (&["192.0.2.1:53", "192.0.2.2:53"], &[1, 2])] {
        for (count, hundredths) in [(500, 300), (1, 300), (500, 2), (1, 500)] {
            let mut scene = scene_of_servers_that_answered(servers);
            submit_names(&mut scene, count);
            let questions = while_gone(&mut scene, hundredths, gone, Rcode::NOERROR);
            assert!(questions < 400, "{questions} questions that nobody reads");
            assert_eq!(scene.answers(), []);
            while_gone(&mut scene, 20, &[], Rcode::NOERROR);
            let answers = scene.answers();
            let good = answers.iter().filter(|(_, result)| result.is_ok()).count();
            assert_eq!((answers.len(), good), (count as usize, count as usize), "a fifth of a second later");
        }
    }
}

#[test]
fn a_resolver_that_stays_down_holds_names_up_for_some_seconds_and_no_longer() {
    let mut scene = scene_of_servers_that_answered(&["192.0.2.1:53"]);
    submit_names(&mut scene, 500);
    while_gone(&mut scene, 700, &[1], Rcode::NOERROR);
    let answers = scene.answers();
    assert_eq!(answers.len(), 500);
    assert!(answers.iter().all(|(_, result)| *result == Err(FailureKind::NameServerFailure)));
    scene.submit(&["later.example"]);
    while_gone(&mut scene, 5, &[1], Rcode::NOERROR);
    assert_eq!(scene.answers().len(), 1, "at once, as long as it does not answer");
}

#[test]
fn an_error_is_believed_of_the_servers_that_a_question_reaches() {
    let mut scene = scene_of_servers_that_answered(&["192.0.2.1:53", "192.0.2.2:53"]);
    submit_names(&mut scene, 100);
    while_gone(&mut scene, 20, &[1], Rcode::SERVFAIL);
    let answers = scene.answers();
    assert_eq!(answers.len(), 100, "within a fifth of a second");
    assert!(answers.iter().all(|(_, result)| *result == Err(FailureKind::NameServerFailure)));
}

#[test]
fn one_question_without_reply_says_nothing_about_the_way_to_its_server() {
    let mut scene = scene_of_servers_that_answered(&["192.0.2.1:53"]);
    scene.submit(&["bad.example"]);
    for _ in 0..3 {
        let (socket, _, _, message) = scene.sent().remove(0);
        let number = u16::from_be_bytes([message[0], message[1]]);
        scene.core.fail_one((socket, number), "HTTPS: status 500", scene.now);
    }
    scene.submit(&["good.example"]);
    let asked = scene.sent();
    assert!(
        asked.iter().any(|(.., message)| name_in(message)[1..5].eq_ignore_ascii_case(b"good")),
        "at once"
    );
}
