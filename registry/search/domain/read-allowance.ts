import type { HttpMethod, Principal, Risk, TemplateTier } from '#contracts/vocabulary';

const safeMethods: readonly HttpMethod[] = ['GET', 'HEAD', 'OPTIONS'];

interface AskedAction {
  readonly method: HttpMethod;
  readonly risk: Risk;
  readonly templateTier: TemplateTier;
  readonly autoAllowReads: boolean;
}

/**
 * Whether a call needs an allow rule or an approval. The registry answers this without asking
 * policy: users need no rule for their own calls, and agents may read where the service allows
 * reads (docs/reference/permissions.md#the-walk). Rules can allow more; policy decides about each
 * call.
 */
export function needsRule(caller: Principal, action: AskedAction): boolean {
  if (caller.kind === 'user') return false;
  const mayRead = caller.chain.every(
    ({ kind, inheritPermissions }) => kind !== 'subagent' || inheritPermissions,
  );
  const isTrustedRead = safeMethods.includes(action.method) || action.templateTier !== 'user';
  return !(mayRead && action.autoAllowReads && action.risk === 'read' && isTrustedRead);
}
