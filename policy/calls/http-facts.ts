import type { HttpCall } from '#contracts/call';
import type { CallTarget, Injection } from '#contracts/permit';
import { keyCharactersMax, connectionKey, httpKey, secretKey } from '#permission-key';
import { templateDigest } from '#templates';
import { listAliasKeys } from '../denials/domain/deny-names.ts';
import { higherRisk } from '../denials/domain/risks.ts';
import type { Lookups, Owner } from '../deps.ts';
import { getConnectedService } from '../services/connected-service.ts';
import type { CallFacts } from './call-facts.ts';
import { cutDescription, isSafeMethod, riskOfMethod } from './call-facts.ts';
import { findCallSecrets } from './call-secrets.ts';
import { findCallConnection } from './connections.ts';
import { checkPlaces, findServiceCredentials } from './credentials.ts';
import { checkHttpParts, parseHttpTarget } from './domain/http-target.ts';
import type { HttpTarget } from './domain/http-target.ts';
import { invalidParamError, invalidParamsError } from './domain/invalid-params.ts';
import { mayNameOperation } from './domain/named-operation.ts';
import { findUnfaithfulValues } from './domain/plain-json.ts';

/**
 * Establishes the facts of a call by HTTP method and path on a connected service, or of a call to a
 * full URL.
 */
export async function establishHttpFacts(
  lookups: Lookups,
  owner: Owner,
  call: HttpCall,
): Promise<CallFacts> {
  checkHttpParts(call);
  if (call.connection !== undefined && call.service !== 'http') {
    throw invalidParamError('connection', 'goes with raw HTTP only; a service brings its own');
  }
  const issues = findUnfaithfulValues(call.body, 'body');
  if (issues.length > 0) throw invalidParamsError(issues);

  const { target, to, template, service } =
    call.service === 'http'
      ? rawDestinationOf(call)
      : await findVerbDestination(lookups, owner, call);
  const ownCredentials =
    service === null
      ? []
      : await findServiceCredentials(lookups, {
          owner,
          ...service,
          host: to.host,
          isKeyed: true,
          action: null,
        });
  const callSecrets = await findCallSecrets(lookups, {
    owner,
    secrets: call.secrets,
    host: to.host,
  });
  const connectionOfCall = await findCallConnection(lookups, {
    owner,
    name: call.connection,
    host: to.host,
    url: call.target,
  });
  const injections = [...ownCredentials, ...connectionOfCall, ...callSecrets];
  checkPlaces(injections);

  const key = httpKey(call.method, to.host, to.path);
  if (key.key.length > keyCharactersMax) {
    throw invalidParamError('path', 'is too long to be part of a permission key');
  }
  const leastRisk = mayNameOperation(call, injections) ? 'write' : 'read';
  const risk = higherRisk(riskOfMethod(call.method), leastRisk);
  return {
    target,
    templateDigest: service === null ? null : templateDigest(service.template),
    service: service?.service.name ?? 'http',
    template,
    action: call.method,
    serviceId: service?.service.id ?? null,
    injections,
    host: to.host,
    keys: [key, ...credentialKeysOf(injections, to.host)],
    scope: [],
    risk,
    nonRead: !isSafeMethod(call.method) || risk !== 'read',
    description: cutDescription(`${call.method} ${to.host}${to.path}`),
    isOpenRead: false,
    allowsReads: false,
    ownNames: () => listAliasKeys(injections, { host: to.host, risk }),
    request: { method: call.method, path: to.path },
    isJudgedAsRequest: true,
  };
}

interface Destination {
  readonly target: CallTarget;
  readonly to: HttpTarget;
  readonly template: string | null;
  readonly service: Awaited<ReturnType<typeof getConnectedService>> | null;
}

function rawDestinationOf(call: HttpCall): Destination {
  const httpTarget = parseHttpTarget(call.target, null);
  return { target: { kind: 'raw' }, to: httpTarget, template: null, service: null };
}

async function findVerbDestination(
  lookups: Lookups,
  owner: Owner,
  call: HttpCall,
): Promise<Destination> {
  const connectedService = await getConnectedService(lookups, owner, call.service);
  const { service, template } = connectedService;
  return {
    target: {
      kind: 'verb',
      service: service.name,
      serviceId: service.id,
      template: service.template,
      baseUrl: service.baseUrl,
    },
    to: parseHttpTarget(call.target, service.baseUrl),
    template: template.key,
    service: connectedService,
  };
}

function credentialKeysOf(injections: readonly Injection[], host: string) {
  const keys = injections.map(({ kind, credentialName }) =>
    kind === 'secret' ? secretKey(credentialName, host) : connectionKey(credentialName, host),
  );
  return [...new Map(keys.map((key) => [key.key, key])).values()];
}
