import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { ConnectedService, createServiceBody } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { referenceTo } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { nearestName } from '../domain/nearest.ts';
import { presentService } from '../domain/present-service.ts';
import { listSecretChoices } from '../domain/secret-choices.ts';
import type { SecretChoice } from '../domain/secret-choices.ts';
import { resolveServer } from '../domain/servers.ts';
import { mayGiveBaseUrl, mayWriteServices } from '../domain/service.ts';
import { serviceCreated } from '../domain/service-events.ts';
import { findExistingSecrets } from '../lookups/existing-secrets.ts';
import {
  findServiceByName,
  insertService,
  lockServicesOf,
} from '../repository/connected-service.ts';
import type { NewService } from '../repository/connected-service.ts';

type Body = z.infer<typeof createServiceBody>;

/** Deny rules look at every service on a host; what they look at must be bounded. */
const servicesPerOwnerMax = 100;

/**
 * Connects a service: a template at an address, with secrets that may go there. Everything that
 * can be wrong is looked at before the first change, since that is made in another component.
 */
export async function createService(
  deps: Deps,
  { principal, body }: { principal: string; body: Body },
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.verifyPrincipal(principal);
  const tier = body.tier ?? 'user';
  if (!mayWriteServices(caller, tier)) throw refusedTo(caller, tier);
  const template = getTemplate(deps, body.template);
  const name = body.name ?? template.key;
  const address = addressOf(deps, { caller, template, tier, body });
  const ownerId = tier === 'org' ? null : caller.userId;
  await checkNameIsFree(deps, { caller, tier, name });
  const secrets = await chooseSecrets(deps, { caller, template, tier, body }, deadline);

  for (const reference of new Set(Object.values(secrets))) {
    await deps.executor.allowSecretHosts({ principal, reference, hosts: address.hosts }, deadline);
  }
  const service = await insert(deps, caller, {
    id: uuidv7(),
    orgId: caller.orgId,
    tier,
    ownerId,
    name,
    template: referenceTo(template),
    title: template.title,
    baseUrl: address.baseUrl,
    hosts: address.hosts,
    autoAllowReads: body.auto_allow_reads ?? true,
    secrets,
    variables: body.variables ?? {},
    isBaseUrlGiven: body.base_url !== undefined,
    createdBy: caller.identityId,
  });
  return presentService(service, { template, existing: new Set(Object.values(secrets)) });
}

function refusedTo(caller: Principal, tier: Tier): AppError {
  if (caller.kind !== 'user') {
    const message = 'Agents do not connect services; ask the person you work for.';
    return new AppError('forbidden', message);
  }
  const message =
    tier === 'org' && caller.role === 'member'
      ? 'Only an admin connects services for the org; connect one for yourself with tier "user".'
      : 'Your role does not change anything.';
  return new AppError('forbidden', message);
}

function getTemplate({ catalog }: Deps, key: string): CompiledTemplate & { server: object } {
  const template = catalog.find(key);
  if (template?.server) return { ...template, server: template.server };
  const known = catalog.list().map((candidate) => candidate.key);
  const suggestion = nearestName(key, known);
  const hint = suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`;
  throw new AppError('not_found', `There is no template "${key}".${hint}`, {
    details: { did_you_mean: suggestion },
  });
}

interface Wish {
  readonly caller: Principal;
  readonly template: CompiledTemplate;
  readonly tier: Tier;
  readonly body: Body;
}

function addressOf(
  { isPlainHttpAllowed }: Deps,
  { caller, template, tier, body }: Wish,
): { baseUrl: string; hosts: string[] } {
  const { server } = template;
  if (server === null) throw new AppError('not_found', `"${template.key}" cannot be connected.`);
  const { base_url: baseUrl } = body;
  if (
    baseUrl !== undefined &&
    !mayGiveBaseUrl(caller, { tier, baseUrlAllowed: server.baseUrlAllowed })
  ) {
    throw new AppError(
      'forbidden',
      'Only an admin gives a base_url: for templates that allow it, or for a service of the org.',
    );
  }
  const variables = body.variables ?? {};
  const resolved = resolveServer(server, { variables, baseUrl, isPlainHttpAllowed });
  const others = baseUrl === undefined ? template.hosts : [];
  return { baseUrl: resolved.baseUrl, hosts: [...new Set([resolved.host, ...others])] };
}

async function checkNameIsFree(
  { db }: Deps,
  { caller, tier, name }: { caller: Principal; tier: Tier; name: string },
): Promise<void> {
  const { orgId, userId } = caller;
  const taken = await findServiceByName(db, { orgId, userId, name, isOrgOnly: tier === 'org' });
  if (taken?.tier === tier) throw nameTaken(name);
}

function nameTaken(name: string): AppError {
  return new AppError(
    'conflict',
    `A service named "${name}" is connected already; choose another name.`,
  );
}

/** The first way in whose secrets are all there, as they stand in permission keys. */
async function chooseSecrets(
  { executor }: Deps,
  { caller, template, tier, body }: Wish,
  deadline: Deadline,
): Promise<SecretChoice> {
  const { orgId, userId } = caller;
  const choices = listSecretChoices(template, { given: body.credentials?.secrets ?? {}, tier });
  const references = choices.flatMap((choice) => Object.values(choice));
  const existing = await findExistingSecrets(executor, { orgId, userId, references }, deadline);
  const chosen = choices.find((choice) =>
    Object.values(choice).every((each) => existing.has(each)),
  );
  if (chosen !== undefined) {
    const entries = Object.entries(chosen);
    return Object.fromEntries(
      entries.map(([scheme, each]) => [scheme, existing.get(each) ?? each]),
    );
  }
  const missing = Object.values(choices[0] ?? {}).find((each) => !existing.has(each));
  throw new AppError(
    'credential_missing',
    `Store the secret "${missing}" first, or name another one under credentials.secrets.`,
    { details: { secret: missing } },
  );
}

function insert({ db }: Deps, caller: Principal, service: NewService) {
  return db.transaction(async (tx) => {
    const count = await lockServicesOf(tx, service);
    if (count >= servicesPerOwnerMax) {
      const message = `There may be at most ${servicesPerOwnerMax} services; disconnect one that is no longer used.`;
      throw new AppError('conflict', message);
    }
    const inserted = await insertService(tx, service);
    if (inserted === undefined) throw nameTaken(service.name);
    await appendEvent(tx, serviceCreated(caller, inserted));
    return inserted;
  });
}
