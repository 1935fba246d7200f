"""What drives are told: forces, or signals of valves."""

FORCES, VALVES = 'forces', 'valves'
#: Topics of the commands (std_msgs/Float64MultiArray, one number a drive). Each kind has its own,
#: so that no robot takes the one for the other: a force of 1 N and more would open a valve fully.
COMMANDS = {FORCES: 'effort_controller/commands', VALVES: 'valve_controller/commands'}
