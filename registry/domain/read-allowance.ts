import type { HttpMethod, Principal, Risk, TemplateTier } from '#contracts/vocabulary';

const safeMethods: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS'];

interface AskedAction {
  readonly method: HttpMethod;
  readonly risk: Risk;
  readonly templateTier: TemplateTier;
  readonly autoAllowReads: boolean;
}

/**
 * Whether a call needs an allow rule or an approval, as far as that can be known without asking
 * policy: users act for themselves, and agents read where the service lets them
 * (docs/reference/permissions.md#the-walk). Rules can allow more; policy decides each call.
 */
export function needsRule(caller: Principal, action: AskedAction): boolean {
  if (caller.kind === 'user') return false;
  const isReader = caller.chain.every(
    ({ kind, inheritPermissions }) => kind !== 'subagent' || inheritPermissions,
  );
  const isVouchedFor = safeMethods.includes(action.method) || action.templateTier !== 'user';
  return !(isReader && action.autoAllowReads && action.risk === 'read' && isVouchedFor);
}
