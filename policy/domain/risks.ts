import type { Risk } from '#contracts/vocabulary';

export const riskOrder: readonly Risk[] = ['read', 'write', 'delete'];

export function higher(left: Risk, right: Risk): Risk {
  return riskOrder.indexOf(left) >= riskOrder.indexOf(right) ? left : right;
}

export function isAtLeast(risk: Risk, least: Risk): boolean {
  return riskOrder.indexOf(risk) >= riskOrder.indexOf(least);
}
