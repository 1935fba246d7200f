"""The stand-in for a joint_trajectory_controller, with its robot, as a node of a graph."""

from __future__ import annotations

import threading
import time

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from jtc_stand_in import JtcRobot
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

from pkm_control.effort_trajectory import EffortTrajectory

NAME = 'joint_trajectory_controller'
STEP = 0.005  # [s] of the robot between two looks at the graph
SETTLED = 0.02  # [s] after the last point until a goal has succeeded


class JtcNode(Node):
    """Runs in a thread of its own, in real time where it can; takes one goal at a time."""

    def __init__(self, robot: JtcRobot) -> None:
        super().__init__(NAME)
        self.robot = robot
        self.refuses = self.is_silent = False
        self.further_joints: list[str] = []
        self.efforts: list[np.ndarray] = []  # of the last point of each goal, as they came
        self.jumps: list[float] = []  # [m, rad] from what was wanted to the first point of each
        robot.controller.cancel(robot.time, robot.q)
        robot.run(STEP)
        self._goal, self._done, self._ends = None, None, 0.0
        self._states = self.create_publisher(
            JointTrajectoryControllerState, '~/controller_state', 10
        )
        self._server = ActionServer(
            self,
            FollowJointTrajectory,
            '~/follow_joint_trajectory',
            self._execute,
            goal_callback=lambda _: GoalResponse.REJECT if self.refuses else GoalResponse.ACCEPT,
            handle_accepted_callback=self._accept,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._server.destroy()
        self.destroy_node()

    def _accept(self, handle) -> None:
        """A goal takes the place of the one under way, which is aborted."""
        before, self._goal = self._goal, handle
        if before is not None:
            before.abort()
            self._done.set_result(None)
        points = handle.request.trajectory.points
        arrays = (
            np.array([list(getattr(point, name)) for point in points])
            for name in ('positions', 'velocities', 'accelerations', 'effort')
        )
        at = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
        trajectory = EffortTrajectory(
            tuple(handle.request.trajectory.joint_names), np.array(at), *arrays
        )
        self.efforts.append(trajectory.efforts[-1])
        wanted = self.robot.controller.desired.position
        self.jumps.append(float(np.abs(trajectory.positions[0] - wanted).max()))
        self._done, self._ends = Future(), self.robot.time + at[-1] + SETTLED
        self.robot.follow(trajectory)
        handle.execute()

    async def _execute(self, handle):
        await self._done
        return FollowJointTrajectory.Result()

    def _finish(self, end) -> None:
        end()
        self._done.set_result(None)
        self._goal = None

    def _look(self) -> None:
        """End the goal as the controller does."""
        controller, goal = self.robot.controller, self._goal
        if goal is None:
            return
        if controller.aborted:
            controller.aborted = False
            self._finish(goal.abort)
        elif goal.is_cancel_requested:
            controller.cancel(self.robot.time, self.robot.q)
            self._finish(goal.canceled)
        elif self.robot.time >= self._ends:
            controller.succeed()
            self._finish(goal.succeed)

    def _run(self) -> None:
        executor = SingleThreadedExecutor()
        executor.add_node(self)
        begun, first = time.monotonic(), self.robot.time
        while not self._stop.is_set():
            executor.spin_once(timeout_sec=0.0)
            ahead = self.robot.time - first - (time.monotonic() - begun)
            if ahead > 0.0:
                executor.spin_once(timeout_sec=ahead)
                continue
            if ahead < -0.1:  # a slow machine: the robot's time goes slower
                begun -= ahead
            self.robot.run(STEP)
            self._look()
            if not self.is_silent:
                self._publish()
        executor.shutdown()

    def _publish(self) -> None:
        names, desired = self.robot.model.actuated_joints, self.robot.controller.desired
        state = JointTrajectoryControllerState(joint_names=[*names, *self.further_joints])
        state.reference.positions = desired.position.tolist()
        state.reference.velocities = desired.velocity.tolist()
        state.output.effort = self.robot.controller.command.tolist()
        self._states.publish(state)
