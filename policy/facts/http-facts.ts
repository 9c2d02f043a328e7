import type { HttpCall } from '#contracts/call';
import type { CallTarget, Injection } from '#contracts/permit';
import { keyCharactersMax, connectionKey, httpKey, secretKey } from '#permission-key';
import { templateDigest } from '#templates';
import { aliasKeys } from '../domain/deny-names.ts';
import { checkHttpParts, parseHttpTarget } from '../domain/http-target.ts';
import type { HttpTarget } from '../domain/http-target.ts';
import { invalidParam, invalidParams } from '../domain/invalid-call.ts';
import { findUnfaithful } from '../domain/plain-json.ts';
import { readQuery } from '../domain/sent-query.ts';
import type { ReadQuery } from '../domain/sent-query.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';
import type { CallFacts } from './call-facts.ts';
import { cutDescription, isSafeMethod, riskOfMethod } from './call-facts.ts';
import { checkPlaces, findCallSecrets, findServiceCredentials } from './credentials.ts';
import { findCallConnection } from './connections.ts';
import { getConnectedService } from './services.ts';

/** Facts of a verb call on a connected service, or of raw HTTP. */
export async function establishHttpFacts(
  lookups: Lookups,
  owner: Owner,
  call: HttpCall,
): Promise<CallFacts> {
  checkHttpParts(call);
  if (call.connection !== undefined && call.service !== 'http') {
    throw invalidParam('connection', 'goes with raw HTTP only; a service brings its own');
  }
  const issues = findUnfaithful(call.body, 'body');
  if (issues.length > 0) throw invalidParams(issues);

  const { target, to, template, service } =
    call.service === 'http' ? raw(call) : await verb(lookups, owner, call);
  const own =
    service === null
      ? []
      : await findServiceCredentials(lookups, {
          owner,
          ...service,
          host: to.host,
          isKeyed: true,
          minimumScopes: null,
        });
  const asked = await findCallSecrets(lookups, { owner, secrets: call.secrets, host: to.host });
  const through = await findCallConnection(lookups, {
    owner,
    name: call.connection,
    host: to.host,
  });
  const injections = [...own, ...through, ...asked];
  checkPlaces(injections);

  const key = httpKey(call.method, to.host, to.path);
  if (key.key.length > keyCharactersMax) {
    throw invalidParam('path', 'is too long to be part of a permission key');
  }
  const risk = riskOfMethod(call.method);
  return {
    target,
    templateDigest: service === null ? null : templateDigest(service.template),
    service: service?.service.name ?? 'http',
    template,
    action: call.method,
    serviceId: service?.service.id ?? null,
    injections,
    host: to.host,
    keys: [key, ...credentialKeys(injections, to.host)],
    risk,
    nonRead: !isSafeMethod(call.method),
    description: cutDescription(`${call.method} ${to.host}${to.path}`),
    isOpenRead: false,
    allowsReads: false,
    ownNames: () => aliasKeys(injections, { host: to.host, risk }),
    request: {
      method: call.method,
      path: to.path,
      ...queryOf(call),
      body: isReadAsUtf8(call.headers) ? call.body : undefined,
    },
  };
}

interface Destination {
  readonly target: CallTarget;
  readonly to: HttpTarget;
  readonly template: string | null;
  readonly service: Awaited<ReturnType<typeof getConnectedService>> | null;
}

function raw(call: HttpCall): Destination {
  const to = parseHttpTarget(call.target, null);
  return { target: { kind: 'raw' }, to, template: null, service: null };
}

async function verb(lookups: Lookups, owner: Owner, call: HttpCall): Promise<Destination> {
  const connected = await getConnectedService(lookups, owner, call.service);
  const { service, template } = connected;
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
    service: connected,
  };
}

function credentialKeys(injections: readonly Injection[], host: string) {
  const keys = injections.map(({ kind, credentialName }) =>
    kind === 'secret' ? secretKey(credentialName, host) : connectionKey(credentialName, host),
  );
  return [...new Map(keys.map((key) => [key.key, key])).values()];
}

/** Both ways of giving a query in one record. */
function queryOf({ target, query }: HttpCall): ReadQuery {
  const mark = target.indexOf('?');
  const further = Object.entries(query).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return readQuery(mark < 0 ? '' : target.slice(mark + 1), further);
}

/** The bytes of a body say something else to a server that takes them for UTF-7 or UTF-16. */
function isReadAsUtf8(headers: HttpCall['headers']): boolean {
  return Object.entries(headers).every(
    ([name, value]) =>
      name.toLowerCase() !== 'content-type' ||
      [...value.matchAll(/charset\*?\s*=\s*["']?([^"';,\s]*)/gi)].every(([, charset = '']) =>
        /^(?:utf-?8|us-ascii)$/i.test(charset),
      ),
  );
}
