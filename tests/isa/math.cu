// The CUDA math library as a program: its functions are long sequences of fma, rcp.approx,
// ex2.approx, integer tricks on the bits of floats, and look-ups. math_test.cpp compares with long
// double.
#define FUNCTION(name, type, expression)                       \
  extern "C" __global__ void name(type* out, const type* in) { \
    type a = in[threadIdx.x];                                  \
    out[threadIdx.x] = expression;                             \
  }

FUNCTION(float_sin, float, sinf(a))
FUNCTION(float_cos, float, cosf(a))
FUNCTION(float_tan, float, tanf(a))
FUNCTION(float_exp, float, expf(a))
FUNCTION(float_exp2, float, exp2f(a))
FUNCTION(float_expm1, float, expm1f(a))
FUNCTION(float_log, float, logf(fabsf(a)))
FUNCTION(float_log2, float, log2f(fabsf(a)))
FUNCTION(float_log1p, float, log1pf(fabsf(a)))
FUNCTION(float_pow, float, powf(fabsf(a), 2.5f))
FUNCTION(float_lgamma, float, lgammaf(fabsf(a)))
FUNCTION(float_erf, float, erff(a))
FUNCTION(float_cbrt, float, cbrtf(a))
FUNCTION(float_tanh, float, tanhf(a))
FUNCTION(float_atan, float, atanf(a))
FUNCTION(float_rsqrt, float, rsqrtf(fabsf(a)))
FUNCTION(float_round, float, roundf(a))
FUNCTION(float_reciprocal, float, 1.0f / a)
FUNCTION(double_sin, double, sin(a))
FUNCTION(double_cos, double, cos(a))
FUNCTION(double_tan, double, tan(a))
FUNCTION(double_exp, double, exp(a))
FUNCTION(double_exp2, double, exp2(a))
FUNCTION(double_expm1, double, expm1(a))
FUNCTION(double_log, double, log(fabs(a)))
FUNCTION(double_log2, double, log2(fabs(a)))
FUNCTION(double_log1p, double, log1p(fabs(a)))
FUNCTION(double_pow, double, pow(fabs(a), 2.5))
FUNCTION(double_lgamma, double, lgamma(fabs(a)))
FUNCTION(double_erf, double, erf(a))
FUNCTION(double_cbrt, double, cbrt(a))
FUNCTION(double_tanh, double, tanh(a))
FUNCTION(double_atan, double, atan(a))
FUNCTION(double_rsqrt, double, rsqrt(fabs(a)))
FUNCTION(double_round, double, round(a))
FUNCTION(double_reciprocal, double, 1.0 / a)
