import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { Reader, Relay } from '#events';
import { permitReplay } from './decisions/permit-replay.ts';
import { plantRules } from './decisions/plant-rules.ts';
import type { Deps } from './deps.ts';
import { createRule } from './rules/create-rule.ts';
import { deleteRule } from './rules/delete-rule.ts';
import { listRules } from './rules/list-rules.ts';
import { listServiceHosts } from './services/list-service-hosts.ts';
import { recordAddress } from './services/record-address.ts';
import { forgetTemplate, recordTemplate } from './services/record-template.ts';
import { checkAuthority } from './walk/check-authority.ts';
import { decideCall } from './walk/decide-call.ts';
import { explainCall } from './walk/explain-call.ts';
import { explainGap } from './walk/explain-gap.ts';

export function createHandlers(
  deps: Deps,
  reader: Pick<Reader, 'state'>,
  relay: Pick<Relay, 'backlog'>,
): Handlers<typeof policy> {
  return bind(deps, {
    decide: decideCall,
    explain: explainCall,
    explainGap,
    permitReplay,
    checkAuthority,
    plantRules,
    listRules,
    createRule,
    deleteRule,
    recordAddress,
    recordTemplate,
    forgetTemplate,
    listServiceHosts,
    ping: async ({ now }) => ({
      reading: reader.state(),
      outbox: relay.backlog(),
      time: now(),
    }),
  });
}
