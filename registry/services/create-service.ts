import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { ConnectedService, createServiceBody } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { toReference } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { credentialsIn } from './domain/credential-choices.ts';
import { presentService } from './domain/present-service.ts';
import { addressOf } from './domain/service-address.ts';
import { mayGiveBaseUrl, mayWriteServices } from './domain/service.ts';
import { serviceCreatedEvent } from './domain/service-events.ts';
import { askForTools } from '../toolsets/ask-for-tools.ts';
import type { OfferedTools } from '../toolsets/ask-for-tools.ts';
import { saveOfferedTools } from '../toolsets/save-tools.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';
import type { AcceptsTool } from '../toolsets/domain/toolset.ts';
import { checkRequest, reportAnswer, requireUnanswered } from './answer-request.ts';
import { allowHosts, presentAddedHosts } from './allow-hosts.ts';
import { chooseCredentials } from './choose-credentials.ts';
import type { ChosenCredentials, WantedCredentials } from './choose-credentials.ts';
import { findCredentialsOfServices } from './find-credentials.ts';
import { getConnectableTemplate } from '../templates/get-connectable-template.ts';
import {
  findServiceByName,
  insertService,
  lockService,
  lockServicesOf,
} from './connected-service.sql.ts';
import type { NewService } from './connected-service.sql.ts';
import { lockPublishedVersion } from '../templates/template.sql.ts';

type Body = z.infer<typeof createServiceBody>;

/**
 * The largest number of services per owner. A call to a host is checked against the deny rules of
 * every service on that host, so their number must be limited.
 */
const servicesPerOwnerMax = 100;

/**
 * Connects a service: stores a template, an address, and credentials that may go to that address.
 * Checks everything before the first change. That change allows a credential to go to a host; the
 * executor makes it, so the registry cannot roll it back.
 */
export async function createService(
  deps: Deps,
  { principal, body }: { principal: string; body: Body },
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.readPrincipal(principal);
  const tier = body.tier ?? 'user';
  if (!mayWriteServices(caller, tier)) throw mayNotConnectError(caller, tier);
  const template = await getWantedTemplate(deps, { principal, caller, body, tier }, deadline);
  const name = body.name ?? template.key;
  checkMayGiveBaseUrl(caller, { template, tier, baseUrl: body.base_url });
  await checkNameIsFree(deps, { caller, tier, name });
  const chosen = await chooseForNew(deps, { caller, template, tier, name, body }, deadline);
  const { schemes, secrets, connection, toAllow, address } = chosen;
  // The data for the answer is loaded before the change, because a failure after the change would
  // report an error although the change was made.
  const shownService = { ...caller, services: [{ secrets, connection }] };
  const existingCredentials = await findCredentialsOfServices(
    deps.executor,
    shownService,
    deadline,
  );

  const newService: NewService = {
    id: uuidv7(),
    orgId: caller.orgId,
    tier,
    ownerId: tier === 'org' ? null : caller.userId,
    name,
    template: toReference(template),
    title: template.title,
    ...address,
    autoAllowReads: body.auto_allow_reads ?? true,
    secrets,
    connection,
    schemes,
    isBaseUrlGiven: body.base_url !== undefined,
    createdBy: caller.identityId,
    requestId: body.request_id ?? null,
  };
  await allowHosts(deps, { principal, toAllow, service: newService }, deadline);
  // Asking the MCP server for its tools is the last check: a server that does not answer is not
  // connected.
  const offeredTools =
    template.mcp && (await askForTools(deps, { service: newService, template }, deadline));
  const service = await storeService(deps, caller, {
    service: newService,
    offered: offeredTools,
    accepts: createAcceptTest(template),
  });
  await reportAnswer(deps, caller, { service, requestId: newService.requestId });
  const connectedVersion = await getTemplateVersion(deps, {
    orgId: caller.orgId,
    template: service.template,
  });
  const shown = presentService(service, {
    template: connectedVersion,
    existing: existingCredentials,
    newest: template.version,
  });
  return { ...shown, ...presentAddedHosts(toAllow) };
}

/** Chooses the credentials of a new service, and with them its address. */
function chooseForNew(
  deps: Deps,
  {
    body,
    ...service
  }: Pick<WantedCredentials, 'caller' | 'template' | 'tier' | 'name'> & { body: Body },
  deadline: Deadline,
): Promise<ChosenCredentials> {
  const { template } = service;
  const { credentials = {}, variables = {}, base_url: baseUrl } = body;
  const { isPlainHttpAllowed } = deps;
  const wanted: WantedCredentials = {
    ...service,
    given: credentialsIn(credentials),
    isNamed: true,
    variables,
    addressOf: (way) => addressOf(template, { ...way, variables, baseUrl, isPlainHttpAllowed }),
  };
  return chooseCredentials(deps, wanted, deadline);
}

/**
 * Returns the template to connect. When the service is to answer a request, first checks that the
 * caller may answer the request with this template.
 */
async function getWantedTemplate(
  deps: Deps,
  {
    principal,
    caller,
    body,
    tier,
  }: { principal: string; caller: Principal; body: Body; tier: Tier },
  deadline: Deadline,
): Promise<CompiledTemplate> {
  const { template, request_id: requestId } = body;
  if (requestId !== undefined) {
    await checkRequest(deps, { principal, caller, requestId, template, tier }, deadline);
  }
  const connectableTemplate = await getConnectableTemplate(deps, caller, {
    key: template,
    tier: body.template_tier ?? null,
    // A request can ask for a template of the org or a built-in one, but not for one of a user.
    isForOrg: tier === 'org' || requestId !== undefined,
  });
  requireSameVersion(connectableTemplate, body.template_version);
  return connectableTemplate;
}

/** Refuses to connect hosts and actions that the person has not seen. */
function requireSameVersion(
  { key, version }: CompiledTemplate,
  seenVersion: number | undefined,
): void {
  if (seenVersion === undefined || seenVersion === version) return;
  const message = `The template "${key}" was changed since you looked at it; look at it again, and connect then.`;
  throw new AppError('conflict', message, {
    details: { reason: 'template_changed', template_version: version },
  });
}

function mayNotConnectError(caller: Principal, tier: Tier): AppError {
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
  const message =
    caller.role === 'admin'
      ? `The template "${template.key}" takes no base_url for a service of your own; connect it for the org, with tier "org".`
      : 'Only an admin gives a base_url: for templates that allow it, or for a service of the org.';
  throw new AppError('forbidden', message);
}

async function checkNameIsFree(
  { db }: Deps,
  { caller, tier, name }: { caller: Principal; tier: Tier; name: string },
): Promise<void> {
  const { orgId, userId } = caller;
  const serviceWithName = await findServiceByName(db, {
    orgId,
    userId,
    name,
    isOrgOnly: tier === 'org',
  });
  if (serviceWithName?.tier === tier) throw nameTakenError(name);
}

function nameTakenError(name: string): AppError {
  return new AppError(
    'conflict',
    `A service named "${name}" is connected already; choose another name.`,
  );
}

/**
 * Which tools are accepted when a service is connected: all that the MCP server offers then, or, if
 * the template switches discovery off, only those that the template names.
 */
function createAcceptTest({ mcp }: CompiledTemplate): AcceptsTool {
  return (name) => mcp !== undefined && (mcp.autodiscover || Object.hasOwn(mcp.overrides, name));
}

interface ServiceToStore {
  readonly service: NewService;
  readonly offered: OfferedTools | undefined;
  readonly accepts: AcceptsTool;
}

function storeService(
  { db }: Deps,
  caller: Principal,
  { service, offered, accepts }: ServiceToStore,
) {
  const { key, tier, ownerId, version } = service.template;
  return db.transaction(async (tx) => {
    if (tier !== 'global' && ownerId !== null) {
      const name = { orgId: service.orgId, tier, ownerId, key };
      if (!(await lockPublishedVersion(tx, { ...name, version }))) {
        const message = `The template "${key}" was just changed; look at it, and connect again.`;
        throw new AppError('conflict', message, { details: { reason: 'template_changed' } });
      }
    }
    const count = await lockServicesOf(tx, service);
    if (count >= servicesPerOwnerMax) {
      const message = `There may be at most ${servicesPerOwnerMax} services; disconnect one that is no longer used.`;
      throw new AppError('conflict', message);
    }
    await requireUnanswered(tx, service);
    const insertedService = await insertService(tx, service);
    if (insertedService === undefined) throw nameTakenError(service.name);
    if (offered !== undefined) await saveOfferedTools(tx, insertedService, { offered, accepts });
    await appendEvent(tx, serviceCreatedEvent(caller, insertedService, service.requestId));
    const serviceKey = { orgId: insertedService.orgId, serviceId: insertedService.id };
    return offered === undefined
      ? insertedService
      : ((await lockService(tx, serviceKey)) ?? insertedService);
  });
}
