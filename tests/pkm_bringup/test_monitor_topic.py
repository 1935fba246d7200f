"""`pkm monitor` on the topic of an online estimator."""

from __future__ import annotations

import pytest
from online_estimates import NAME, estimates

from pkm_bringup import cli

TOPIC = '/left/online_estimator/parameters'
REFERENCES = 6


@pytest.mark.ros
def test_a_topic_is_followed_until_interrupted(tmp_path, capsys, monkeypatch, fails) -> None:
    from builtin_interfaces.msg import Time

    import pkm_description
    from pkm_bringup.nodes import estimate_listener
    from pkm_msgs.msg import DynamicParameters

    own = pkm_description.load(NAME)

    class Listener(estimate_listener.EstimateListener):
        """The real one; each time that it has nothing to tell the next estimate is published."""

        robot = NAME

        def __init__(self, *given) -> None:
            super().__init__(*given)
            self._publisher = self.node.create_publisher(DynamicParameters, TOPIC, 10)
            self._coming = estimates(12, {9: {'platform.m': 0.2}})
            self.wait(self._publisher.get_subscription_count, 30.0)

        def next(self):
            found = super().next()
            if found is None:
                self._publish()
            return found

        def _publish(self) -> None:
            given = next(self._coming, None)
            if given is None:
                raise KeyboardInterrupt
            time, names, values, covariance = given
            message = DynamicParameters(
                robot=self.robot,
                description_digest=own.digest,
                name=names,
                value=values.tolist(),
                covariance=covariance.ravel().tolist(),
            )
            message.header.stamp = Time(sec=int(time))
            self._publisher.publish(message)

    plain = estimate_listener.EstimateListener
    monkeypatch.setattr(estimate_listener, 'EstimateListener', Listener)
    picture = tmp_path / 'live.png'
    command = ['monitor', TOPIC, '--robot', NAME, '--reference', str(REFERENCES)]
    assert cli.main([*command, '--plot', str(picture)]) == 3
    shown = capsys.readouterr()
    assert shown.out.startswith('changed: payload +0.')
    assert 'reading' in shown.out
    assert 'recording' not in shown.out
    assert f'reading 1 of {REFERENCES + 1} that are needed' in shown.err
    assert picture.stat().st_size > 10_000
    monkeypatch.setattr(Listener, 'robot', 'other')
    assert "estimates of robot 'other'" in fails(*command)
    monkeypatch.setattr(estimate_listener, 'FIRST', -1.0)
    monkeypatch.setattr(estimate_listener, 'EstimateListener', plain)
    assert 'nobody publishes estimates there' in fails(*command)
    assert 'leave --model and --live out' in fails(*command, '--live')
