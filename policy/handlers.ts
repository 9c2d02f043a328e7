import type { Handlers } from '#bus';
import type { policy } from '#contracts/bus/policy';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import { checkAuthority } from './usecases/check-authority.ts';
import { createRule } from './usecases/create-rule.ts';
import { decideCall } from './usecases/decide-call.ts';
import { deleteRule } from './usecases/delete-rule.ts';
import { explainCall } from './usecases/explain-call.ts';
import { listServiceHosts } from './usecases/list-service-hosts.ts';
import { listRules } from './usecases/list-rules.ts';
import { permitReplay } from './usecases/permit-replay.ts';
import { plantRules } from './usecases/plant-rules.ts';
import { recordAddress } from './usecases/record-address.ts';
import { forgetTemplate, recordTemplate } from './usecases/record-template.ts';

/** Endpoint → use case. */
export function createHandlers(deps: Deps, reader: Pick<Reader, 'state'>): Handlers<typeof policy> {
  return {
    decide: (request) => decideCall(deps, request),
    explain: (request, deadline) => explainCall(deps, request, deadline),
    permitReplay: (request, deadline) => permitReplay(deps, request, deadline),
    checkAuthority: (request) => checkAuthority(deps, request),
    plantRules: (request, deadline) => plantRules(deps, request, deadline),
    listRules: (request, deadline) => listRules(deps, request, deadline),
    createRule: (request, deadline) => createRule(deps, request, deadline),
    deleteRule: (request, deadline) => deleteRule(deps, request, deadline),
    recordAddress: (request) => recordAddress(deps, request),
    recordTemplate: (request, deadline) => recordTemplate(deps, request, deadline),
    forgetTemplate: (request) => forgetTemplate(deps, request),
    listServiceHosts: (request) => listServiceHosts(deps, request),
    ping: () => Promise.resolve({ reading: reader.state() }),
  };
}
