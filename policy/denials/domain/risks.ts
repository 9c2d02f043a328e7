import type { Risk } from '#contracts/vocabulary';

export const riskOrder: readonly Risk[] = ['read', 'write', 'delete'];

export function higherRisk(left: Risk, right: Risk): Risk {
  return riskOrder.indexOf(left) >= riskOrder.indexOf(right) ? left : right;
}

export function isAtLeast(risk: Risk, minimum: Risk): boolean {
  return riskOrder.indexOf(risk) >= riskOrder.indexOf(minimum);
}
