import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { upgradedService, upgradeServiceBody } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { newestVersionOf, referenceTo } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { givenIn } from '../domain/credential-choices.ts';
import type { GivenCredentials } from '../domain/credential-choices.ts';
import { differenceBetween } from '../domain/difference.ts';
import { presentService } from '../domain/present-service.ts';
import { addressOf } from '../domain/service-address.ts';
import type { ServiceAddress } from '../domain/service-address.ts';
import type { Service } from '../domain/service.ts';
import { serviceChanged } from '../domain/service-events.ts';
import { askForTools } from '../lookups/offered-tools.ts';
import type { OfferedTools } from '../lookups/offered-tools.ts';
import { saveOffered } from '../lookups/save-tools.ts';
import { lockService } from '../repository/toolset.ts';
import { chooseCredentials, openHosts } from '../lookups/chosen-credentials.ts';
import type { ChosenCredentials } from '../lookups/chosen-credentials.ts';
import { findCredentialsOf } from '../lookups/existing-credentials.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { changedSince, getWritableService } from '../lookups/writable-service.ts';
import * as services from '../repository/connected-service.ts';

type Body = z.infer<typeof upgradeServiceBody>;
type Upgraded = z.infer<typeof upgradedService>;

interface UpgradeServiceFields {
  readonly principal: string;
  readonly name: string;
  readonly body: Body;
}

/**
 * Pins the newest version of a service's template, or with `dry_run` says what that changes. A
 * version that goes to other hosts gets the credentials only when they are named again.
 */
export async function upgradeService(
  deps: Deps,
  { principal, name, body }: UpgradeServiceFields,
  deadline: Deadline,
): Promise<Upgraded> {
  const caller = deps.readPrincipal(principal);
  const service = await getWritableService(deps.db, caller, name);
  const { before, after } = await getVersions(deps, service, body.version);
  const difference = differenceBetween(before, after);
  const common = { from: before.version, to: after.version, difference };
  if (body.dry_run === true) {
    return {
      ...common,
      service: await present(deps, caller, { service, template: before, deadline }),
    };
  }
  const variables = variablesFor(after, service, body.variables);
  const address = addressOf(after, {
    variables,
    baseUrl: service.isBaseUrlGiven ? service.baseUrl : undefined,
    isPlainHttpAllowed: deps.isPlainHttpAllowed,
  });
  const { hosts } = address;
  const chosen = await chooseCredentials(
    deps,
    {
      caller,
      template: after,
      tier: service.tier,
      name: service.name,
      hosts,
      given: body.credentials ? givenIn(body.credentials) : credentialsFor(after, service),
      isNamed: body.credentials !== undefined,
    },
    deadline,
  );
  const upgradedTo = { ...address, template: referenceTo(after) };
  await openHosts(deps, { principal, toOpen: chosen.toOpen, service: upgradedTo }, deadline);
  const { secrets, connection } = chosen;
  const asked = { ...service, ...address, secrets, connection };
  const offered =
    after.mcp && (await askForTools(deps, { service: asked, template: after }, deadline));
  const upgraded = await save(deps, caller, {
    service,
    after,
    address,
    chosen,
    variables,
    offered,
  });
  return {
    ...common,
    service: await present(deps, caller, {
      service: upgraded,
      template: await getTemplateVersion(deps, {
        orgId: caller.orgId,
        template: upgraded.template,
      }),
      deadline,
    }),
  };
}

async function getVersions(
  deps: Deps,
  service: Service,
  wanted: number | undefined,
): Promise<{ before: CompiledTemplate; after: CompiledTemplate }> {
  const { orgId, template, name } = service;
  const newest = newestVersionOf(deps.catalog, service);
  if (newest === null || newest === template.version) {
    throw new AppError(
      'conflict',
      `The service "${name}" has the newest version of its template already.`,
    );
  }
  if (wanted !== undefined && wanted !== newest) {
    const message = `Version ${newest} is the newest by now; look at what it changes first.`;
    throw new AppError('conflict', message, { details: { newest_version: newest } });
  }
  const [before, after] = await Promise.all([
    getTemplateVersion(deps, { orgId, template }),
    getTemplateVersion(deps, { orgId, template: { ...template, version: newest } }),
  ]);
  return { before, after };
}

/** Variables that the new version does not have any more are dropped. */
function variablesFor(
  { server }: CompiledTemplate,
  service: Service,
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (given !== undefined) return given;
  const known = new Set(server?.variables.map(({ name }) => name));
  return Object.fromEntries(Object.entries(service.variables).filter(([name]) => known.has(name)));
}

/** What the service uses, for the schemes that the new version still has. */
function credentialsFor({ auth }: CompiledTemplate, service: Service): GivenCredentials {
  const known = new Set(auth.filter(({ type }) => type === 'apiKey').map(({ scheme }) => scheme));
  const secrets = Object.entries(service.secrets).filter(([scheme]) => known.has(scheme));
  const takesConnection = auth.some(({ type }) => type === 'oauth2');
  return {
    secrets: Object.fromEntries(secrets),
    connection: takesConnection ? service.connection : null,
  };
}

interface Upgrade {
  readonly service: Service;
  readonly after: CompiledTemplate;
  readonly address: ServiceAddress;
  readonly chosen: ChosenCredentials;
  readonly variables: Readonly<Record<string, string>>;
  /** What the server of the new version offers. */
  readonly offered: OfferedTools | undefined;
}

function save(
  { db }: Deps,
  caller: Principal,
  { service, after, address, chosen, variables, offered }: Upgrade,
): Promise<Service> {
  return db.transaction(async (tx) => {
    const upgraded = await services.upgradeService(tx, {
      orgId: service.orgId,
      id: service.id,
      from: service.template.version,
      to: after.version,
      title: after.title,
      ...address,
      variables,
      secrets: chosen.secrets,
      connection: chosen.connection,
    });
    if (upgraded === undefined) throw changedSince(service.name);
    if (offered !== undefined) await saveOffered(tx, upgraded, { offered });
    const clause = `template ${after.key} from version ${service.template.version} to ${after.version}, at ${address.baseUrl}`;
    await appendEvent(tx, serviceChanged(caller, upgraded, [clause]));
    if (offered === undefined) return upgraded;
    const at = { orgId: service.orgId, serviceId: service.id };
    return (await lockService(tx, at)) ?? upgraded;
  });
}

async function present(
  deps: Deps,
  caller: Principal,
  {
    service,
    template,
    deadline,
  }: { service: Service; template: CompiledTemplate; deadline: Deadline },
): Promise<Upgraded['service']> {
  const shown = { ...caller, services: [service] };
  const existing = await findCredentialsOf(deps.executor, shown, deadline);
  return presentService(service, {
    template,
    existing,
    newest: newestVersionOf(deps.catalog, service),
  });
}
