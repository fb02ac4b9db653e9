// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: cg [ROUNDS]
 * Conjugate gradients, as the kernel CG of the NAS parallel benchmarks has them: solve A x = b for
 * a sparse, symmetric and positive definite matrix with random places, ROUNDS times (default: 1).
 * Prints the residual of the last round, which shows that it was solved.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 3000	   /* rows */
#define PER_ROW 12 /* entries beside the diagonal, before the matrix is made symmetric */
#define STEPS 25

/* The matrix by rows: the entries of row i are [row[i], row[i + 1]). */
static uint32_t row[N + 1], column[N * (2 * PER_ROW + 1)];
static double value[N * (2 * PER_ROW + 1)];
static uint32_t pairs[N * PER_ROW][2];
static double x[N], residual[N], direction[N], product[N];

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 314159265;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % limit);
}

__attribute__((noinline)) static void make_matrix(void)
{
	static uint32_t length[N];
	for (uint32_t i = 0; i < N * PER_ROW; i++) {
		pairs[i][0] = i / PER_ROW;
		pairs[i][1] = random_below(N);
		length[pairs[i][0]]++;
		length[pairs[i][1]]++;
	}
	for (uint32_t i = 0; i < N; i++)
		row[i + 1] = row[i] + length[i] + 1;
	for (uint32_t i = 0; i < N; i++) {
		column[row[i]] = i;
		value[row[i]] = 2 * PER_ROW + 4; /* the diagonal outweighs the row */
		length[i] = 1;
	}
	for (uint32_t i = 0; i < N * PER_ROW; i++) {
		for (int end = 0; end < 2; end++) {
			uint32_t from = pairs[i][end], at = row[from] + length[from]++;
			column[at] = pairs[i][!end];
			value[at] = -0.5;
		}
	}
}

__attribute__((noinline)) static void sparse_matvec(const double *in, double *out)
{
	for (uint32_t i = 0; i < N; i++) {
		double sum = 0;
		for (uint32_t at = row[i]; at < row[i + 1]; at++)
			sum += value[at] * in[column[at]];
		out[i] = sum;
	}
}

__attribute__((noinline)) static double dot_product(const double *a, const double *b)
{
	double sum = 0;
	for (uint32_t i = 0; i < N; i++)
		sum += a[i] * b[i];
	return sum;
}

__attribute__((noinline)) static void add_scaled(double *to, double factor, const double *what)
{
	for (uint32_t i = 0; i < N; i++)
		to[i] += factor * what[i];
}

__attribute__((noinline)) static void new_direction(double beta)
{
	for (uint32_t i = 0; i < N; i++)
		direction[i] = residual[i] + beta * direction[i];
}

__attribute__((noinline)) static double conjugate_gradient(void)
{
	for (uint32_t i = 0; i < N; i++) {
		x[i] = 0;
		residual[i] = direction[i] = 1;
	}
	double rho = dot_product(residual, residual);
	for (int step = 0; step < STEPS; step++) {
		sparse_matvec(direction, product);
		double alpha = rho / dot_product(direction, product);
		add_scaled(x, alpha, direction);
		add_scaled(residual, -alpha, product);
		double before = rho;
		rho = dot_product(residual, residual);
		new_direction(rho / before);
	}
	return sqrt(rho);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	double left = 0;
	make_matrix();
	for (long i = 0; i < rounds; i++)
		left = conjugate_gradient();
	printf("residual %.3g\n", left);
	return !(left < 1e-6);
}
