"""A real Kafka of a test's own: one process or three, in KRaft mode, on loopback. Its jars come from Maven."""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from benchmarks.ports import free_ports

#: Seconds for a broker to answer.
START = 60.0

POM = Path(__file__).with_name("pom.xml")

#: Where the jars are kept, beside what else was built.
JARS = Path(__file__).parents[2] / "build" / "kafka"

LOG4J = """
log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"

#: Settings of a broker whose clients are users.
USERS = {
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": f'{_PLAIN} required username="admin" password="admin-secret" '
    'user_admin="admin-secret" user_crawler="crawler-secret";',
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:ANONYMOUS",
}


def jars() -> Path:
    """Return the directory of Kafka's jars; Maven copies them the first time."""
    JARS.parent.mkdir(parents=True, exist_ok=True)
    with (JARS.parent / "kafka.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (JARS / "complete").exists():
            assert shutil.which("mvn") is not None, "mvn is missing: apt-get install maven"
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={JARS}", "-DincludeScope=runtime"]
            done = subprocess.run(["mvn", "-q", "-B", "-f", str(POM), *goal], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout[-2_000:]
            (JARS / "complete").touch()
    return JARS


class Broker:
    """One process of Kafka: broker and controller."""

    def __init__(self, folder: Path, number: int) -> None:
        """Start nothing yet."""
        self.folder, self.number = folder / str(number), number
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, again after it was killed."""
        command = [*_java("-Xmx384m"), f"-Dlog4j.configuration=file:{self.folder}/log4j.properties"]
        command += ["kafka.Kafka", str(self.folder / "server.properties")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def told(self) -> str:
        """Return what it has logged."""
        return (self.folder / "log").read_text()


class Kafka:
    """Brokers of one cluster. A context manager."""

    def __init__(self, count: int = 1, *, has_users: bool = False) -> None:
        """count: of processes. has_users: clients are users, admin or crawler, who have rights."""
        self._has_users = has_users
        self._folder = Path(tempfile.mkdtemp(prefix="lycosa-kafka-"))
        self.brokers = [Broker(self._folder, number) for number in range(1, count + 1)]
        self.servers = ""

    @property
    def connection(self) -> dict[str, str | int | float | bool]:
        """The settings of a connection, by librdkafka's names."""
        return self.connection_of("admin")

    def connection_of(self, user: str) -> dict[str, str | int | float | bool]:
        """The same, of a user."""
        connection: dict[str, str | int | float | bool] = {"bootstrap.servers": self.servers, "log_level": 1}
        if self._has_users:
            connection |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
            connection |= {"sasl.username": user, "sasl.password": f"{user}-secret"}
        return connection

    def __enter__(self) -> Self:
        """Start all, and wait until they answer."""
        count = len(self.brokers)
        ports = free_ports(2 * count)
        pairs = list(zip(ports[:count], ports[count:], strict=True))
        voters = ",".join(
            f"{one.number}@127.0.0.1:{port}" for one, (_, port) in zip(self.brokers, pairs, strict=True)
        )
        for broker, (port, controller) in zip(self.brokers, pairs, strict=True):
            broker.folder.mkdir()
            (broker.folder / "log4j.properties").write_text(LOG4J)
            lines = _settings(broker.number, port, controller, voters, count, broker.folder / "data")
            lines |= USERS if self._has_users else {}
            file = broker.folder / "server.properties"
            file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
            storage = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(file)]
            logging = f"-Dlog4j.configuration=file:{broker.folder}/log4j.properties"
            subprocess.run([*_java("-Xmx64m"), logging, *storage], check=True, capture_output=True, cwd=broker.folder)
            broker.start()
        self.servers = ",".join(f"127.0.0.1:{port}" for port, _ in pairs)
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all."""
        for broker in self.brokers:
            broker.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self) -> None:
        """Wait until all brokers are known."""
        admin, until = AdminClient(self.connection), time.monotonic() + START
        while True:
            try:
                if len(admin.list_topics(timeout=2).brokers) == len(self.brokers):
                    return
            except KafkaException:
                pass
            assert time.monotonic() < until, self.brokers[0].told()[-3_000:]
            time.sleep(0.1)


def _java(memory: str) -> list[str]:
    """The beginning of a command."""
    quick = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    return ["java", memory, *quick, "-cp", f"{jars()}/*"]


def _settings(number: int, port: int, controller: int, voters: str, count: int, data: Path) -> dict[str, Any]:
    """The settings of a broker."""
    copies = min(count, 3)
    return {
        "process.roles": "broker,controller",
        "node.id": number,
        "controller.quorum.voters": voters,
        "listeners": f"CLIENTS://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"CLIENTS://127.0.0.1:{port}",
        "inter.broker.listener.name": "CLIENTS",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 2,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": 2,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": max(copies - 1, 1),
        "min.insync.replicas": max(copies - 1, 1),
        "group.initial.rebalance.delay.ms": 0,
        "num.network.threads": 2,
        "num.io.threads": 2,
    }
