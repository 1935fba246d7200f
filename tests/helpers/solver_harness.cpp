// Loads a plugin of inverse_dynamics_solver: solver_harness PLUGIN N reads positions, velocities and
// accelerations of N actuators and writes inertia, Coriolis, gravity, friction and all forces.
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>

#include <inverse_dynamics_solver/inverse_dynamics_solver.h>
#include <pluginlib/class_loader.hpp>

int main(int, char** argv) {
  using Solver = inverse_dynamics_solver::InverseDynamicsSolver;
  pluginlib::ClassLoader<Solver> loader(
      "inverse_dynamics_solver", "inverse_dynamics_solver::InverseDynamicsSolver");
  const auto solver = loader.createUniqueInstance(argv[1]);
  solver->initialize();
  const int n = std::stoi(argv[2]);
  Eigen::VectorXd given[3];
  for (auto& each : given) {
    each.resize(n);
    for (int a = 0; a < n; ++a) std::cin >> each[a];
  }
  const Eigen::MatrixXd inertia = solver->getInertiaMatrix(given[0]);
  const Eigen::VectorXd vectors[] = {
      solver->getCoriolisVector(given[0], given[1]), solver->getGravityVector(given[0]),
      solver->getFrictionVector(given[1]), solver->getTorques(given[0], given[1], given[2])};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) std::printf("%.17g ", inertia(i, j));
  }
  for (const auto& each : vectors) {
    for (int a = 0; a < n; ++a) std::printf("%.17g ", each[a]);
  }
  try {
    solver->getGravityVector(Eigen::VectorXd::Zero(n + 1));
    return 1;
  } catch (const std::invalid_argument&) {
  }
  try {
    solver->getGravityVector(Eigen::VectorXd::Constant(n, 1e6));
    return 1;
  } catch (const std::domain_error&) {
  }
  return 0;
}
