// Plugin of inverse_dynamics_solver for the robot '@name@': joints are its actuators.
#include "@name@_model.hpp"

#include <stdexcept>
#include <string>

#include <Eigen/Core>
#include <inverse_dynamics_solver/inverse_dynamics_solver.h>
#include <pluginlib/class_list_macros.hpp>

namespace pkm::@name@ {

// Every call starts from home: nothing is kept, and several threads may call at once. Throws
// std::invalid_argument for vectors of another size, std::domain_error where the loops do not close.
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver {
 public:
  using Vector = Eigen::VectorXd;

  // The model is compiled in: there is nothing to read.
  void initialize(
      rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string&,
      const std::string&) override {}

  // Inertia that the actuators feel, with all bodies and rotors.
  Eigen::MatrixXd getInertiaMatrix(const Vector& q) const override {
    const Vector still = Vector::Zero(actuators);
    const Configuration at = reached(q);
    const Vector rest = forces(at, q, still, still);
    Eigen::MatrixXd inertia(actuators, actuators);
    for (int a = 0; a < actuators; ++a) {
      inertia.col(a) = forces(at, q, still, Vector::Unit(actuators, a)) - rest;
    }
    return inertia;
  }

  // Friction changes its sign with the velocity, these forces do not.
  Vector getCoriolisVector(const Vector& q, const Vector& qd) const override {
    const Vector still = Vector::Zero(actuators);
    const Configuration at = reached(q);
    return 0.5 * (forces(at, q, qd, still) + forces(at, q, -qd, still)) -
           forces(at, q, still, still);
  }

  // Forces at rest: of gravity, and of the drives by position.
  Vector getGravityVector(const Vector& q) const override {
    const Vector still = Vector::Zero(actuators);
    return forces(reached(q), q, still, still);
  }

  // Friction at home: that of passive joints depends on the position, which is not given here.
  Vector getFrictionVector(const Vector& qd) const override {
    const Configuration at = home();
    Vector q(actuators);
    for (int a = 0; a < actuators; ++a) q[a] = at.joints[actuator_joint(a)];
    const Vector still = Vector::Zero(actuators);
    return 0.5 * (forces(at, q, qd, still) - forces(at, q, -qd, still));
  }

  // All forces, with friction where the robot is.
  Vector getTorques(const Vector& q, const Vector& qd, const Vector& qdd) const override {
    return forces(reached(q), q, qd, qdd);
  }

 private:
  static void check(const Vector& values) {
    if (values.size() == actuators) return;
    throw std::invalid_argument(
        "@name@ has " + std::to_string(actuators) + " actuators, not " +
        std::to_string(values.size()));
  }

  static void check(Status status) {
    if (status == Status::ok) return;
    throw std::domain_error(
        "@name@ cannot be there: status " + std::to_string(static_cast<int>(status)));
  }

  static Configuration reached(const Vector& q) {
    check(q);
    Configuration at = home();
    check(reach(q.data(), at));
    return at;
  }

  static Vector forces(Configuration at, const Vector& q, const Vector& qd, const Vector& qdd) {
    check(qd);
    check(qdd);
    Vector force(actuators);
    check(forces_of_actuators(q.data(), qd.data(), qdd.data(), at, force.data()));
    return force;
  }
};

}  // namespace pkm::@name@

PLUGINLIB_EXPORT_CLASS(
    pkm::@name@::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
