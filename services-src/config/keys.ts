/**
 * Names of the random keys of a deployment. The keys are independent of each other: a component
 * that can verify statements made for it cannot forge any for another component.
 */
export const principalKeyNames = [
  'PRINCIPAL_KEY_AUTH',
  'PRINCIPAL_KEY_REGISTRY',
  'PRINCIPAL_KEY_POLICY',
  'PRINCIPAL_KEY_EXECUTOR',
  'PRINCIPAL_KEY_APPROVALS',
  'PRINCIPAL_KEY_NOTIFIER',
  'PRINCIPAL_KEY_AUDIT',
] as const;

export const gapKeyNames = ['GAP_KEY_POLICY', 'GAP_KEY_APPROVALS', 'GAP_KEY_EXECUTOR'] as const;

/** All keys that `npm start` and `npm run secrets` make: 32 random bytes each, as base64url. */
export const keyNames = [
  'MASTER_KEY',
  'PERMIT_KEY',
  'DECISION_KEY',
  'CARD_KEY',
  ...gapKeyNames,
  ...principalKeyNames,
  'WEBHOOK_KEY',
  'SIGN_IN_KEY',
] as const;

/** The values of the named keys, for a signer that makes one MAC with each key. */
export function revealKeys<N extends string>(
  config: { readonly [K in N]: { reveal(): string } },
  names: readonly N[],
): string[] {
  return names.map((name) => config[name].reveal());
}
