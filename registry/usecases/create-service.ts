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
import { givenIn } from '../domain/credential-choices.ts';
import { presentService } from '../domain/present-service.ts';
import { addressOf } from '../domain/service-address.ts';
import { mayGiveBaseUrl, mayWriteServices } from '../domain/service.ts';
import { serviceCreated } from '../domain/service-events.ts';
import { askForTools } from '../lookups/offered-tools.ts';
import type { OfferedTools } from '../lookups/offered-tools.ts';
import { saveOffered } from '../lookups/save-tools.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import type { Accepts } from '../domain/toolset.ts';
import { lockService } from '../repository/toolset.ts';
import { chooseCredentials, openHosts } from '../lookups/chosen-credentials.ts';
import { findCredentialsOf } from '../lookups/existing-credentials.ts';
import { getConnectableTemplate } from '../lookups/connectable-template.ts';
import {
  findServiceByName,
  insertService,
  lockServicesOf,
} from '../repository/connected-service.ts';
import type { NewService } from '../repository/connected-service.ts';
import { holdPublishedVersion } from '../repository/template.ts';

type Body = z.infer<typeof createServiceBody>;

/** Deny rules look at every service on a host; what they look at must be bounded. */
const servicesPerOwnerMax = 100;

/**
 * Connects a service: a template at an address, with credentials that may go there. Everything that
 * can be wrong is looked at before the first change, since that is made in another component.
 */
export async function createService(
  deps: Deps,
  { principal, body }: { principal: string; body: Body },
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.readPrincipal(principal);
  const tier = body.tier ?? 'user';
  if (!mayWriteServices(caller, tier)) throw refusedTo(caller, tier);
  const template = await getConnectableTemplate(deps, caller, {
    key: body.template,
    tier: body.template_tier ?? null,
    isForOrg: tier === 'org',
  });
  const name = body.name ?? template.key;
  checkMayGiveBaseUrl(caller, { template, tier, baseUrl: body.base_url });
  const { baseUrl, hosts } = addressOf(template, {
    variables: body.variables ?? {},
    baseUrl: body.base_url,
    isPlainHttpAllowed: deps.isPlainHttpAllowed,
  });
  await checkNameIsFree(deps, { caller, tier, name });
  const given = givenIn(body.credentials ?? {});
  const { secrets, connection, toOpen } = await chooseCredentials(
    deps,
    { caller, template, tier, name, hosts, given, isNamed: true },
    deadline,
  );
  // What is shown is looked up first: after the change nothing may fail any more.
  const shown = { ...caller, services: [{ secrets, connection }] };
  const existing = await findCredentialsOf(deps.executor, shown, deadline);

  const fresh: NewService = {
    id: uuidv7(),
    orgId: caller.orgId,
    tier,
    ownerId: tier === 'org' ? null : caller.userId,
    name,
    template: referenceTo(template),
    title: template.title,
    baseUrl,
    hosts,
    autoAllowReads: body.auto_allow_reads ?? true,
    secrets,
    connection,
    variables: body.variables ?? {},
    isBaseUrlGiven: body.base_url !== undefined,
    createdBy: caller.identityId,
  };
  await openHosts(deps, { principal, toOpen, service: fresh }, deadline);
  // Last of all, and before anything is kept: a server that cannot be asked is not connected.
  const offered = template.mcp && (await askForTools(deps, { service: fresh, template }, deadline));
  const service = await insert(deps, caller, {
    service: fresh,
    offered,
    accepts: firstOf(template),
  });
  const connected = await getTemplateVersion(deps, {
    orgId: caller.orgId,
    template: service.template,
  });
  return presentService(service, { template: connected, existing, newest: template.version });
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

function checkMayGiveBaseUrl(
  caller: Principal,
  {
    template,
    tier,
    baseUrl,
  }: { template: CompiledTemplate; tier: Tier; baseUrl: string | undefined },
): void {
  const baseUrlAllowed = template.server?.baseUrlAllowed ?? false;
  if (baseUrl === undefined || mayGiveBaseUrl(caller, { tier, baseUrlAllowed })) return;
  throw new AppError(
    'forbidden',
    'Only an admin gives a base_url: for templates that allow it, or for a service of the org.',
  );
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

/** Who connects a server takes what it offers, or of a template without discovery what that names. */
function firstOf({ mcp }: CompiledTemplate): Accepts {
  return (name) => mcp !== undefined && (mcp.autodiscover || Object.hasOwn(mcp.overrides, name));
}

interface Insertion {
  readonly service: NewService;
  readonly offered: OfferedTools | undefined;
  readonly accepts: Accepts;
}

function insert({ db }: Deps, caller: Principal, { service, offered, accepts }: Insertion) {
  const { key, tier, ownerId, version } = service.template;
  return db.transaction(async (tx) => {
    if (tier !== 'global' && ownerId !== null) {
      const name = { orgId: service.orgId, tier, ownerId, key };
      if (!(await holdPublishedVersion(tx, { ...name, version }))) {
        const message = `The template "${key}" was just changed; look at it, and connect again.`;
        throw new AppError('conflict', message);
      }
    }
    const count = await lockServicesOf(tx, service);
    if (count >= servicesPerOwnerMax) {
      const message = `There may be at most ${servicesPerOwnerMax} services; disconnect one that is no longer used.`;
      throw new AppError('conflict', message);
    }
    const inserted = await insertService(tx, service);
    if (inserted === undefined) throw nameTaken(service.name);
    if (offered !== undefined) await saveOffered(tx, inserted, { offered, accepts });
    await appendEvent(tx, serviceCreated(caller, inserted));
    const at = { orgId: inserted.orgId, serviceId: inserted.id };
    return offered === undefined ? inserted : ((await lockService(tx, at)) ?? inserted);
  });
}
