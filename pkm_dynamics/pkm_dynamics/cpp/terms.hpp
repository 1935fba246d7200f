// Force of a drive by its position q: value times 1, q - number, cos(number q), sin(number q).
struct DriveTerm {
  int actuator;
  int kind;
  double number;
  double value;
};

// Friction beyond Coulomb and viscous: 1 Stribeck (velocity, exponent), 2 arctangent (slope),
// 3 power (exponent).
struct FrictionLaw {
  int kind;
  double amplitude;
  double first;
  double second;
};
