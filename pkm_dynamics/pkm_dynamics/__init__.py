"""Kinematics, dynamics, regressors, friction and base parameters of closed-chain robots, and a simulated robot."""
