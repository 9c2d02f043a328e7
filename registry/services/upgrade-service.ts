import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { upgradedService, upgradeServiceBody } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { serversOf } from '#templates';
import { newestVersionOf, toReference } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { credentialsIn } from './domain/credential-choices.ts';
import type { GivenCredentials } from './domain/credential-choices.ts';
import { differenceBetween } from '../templates/domain/difference.ts';
import { presentService } from './domain/present-service.ts';
import { addressOf } from './domain/service-address.ts';
import type { Service } from './domain/service.ts';
import { serviceChangedEvent } from './domain/service-events.ts';
import { askForTools } from '../toolsets/ask-for-tools.ts';
import type { OfferedTools } from '../toolsets/ask-for-tools.ts';
import { saveOfferedTools } from '../toolsets/save-tools.ts';
import { allowHosts, presentAddedHosts } from './allow-hosts.ts';
import { chooseCredentials } from './choose-credentials.ts';
import type { ChosenCredentials } from './choose-credentials.ts';
import { findCredentialsOfServices } from './find-credentials.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';
import { changedMeanwhile, getWritableService } from './get-writable-service.ts';
import * as services from './connected-service.sql.ts';

type Body = z.infer<typeof upgradeServiceBody>;
type UpgradeReply = z.infer<typeof upgradedService>;

interface UpgradeServiceFields {
  readonly principal: string;
  readonly name: string;
  readonly body: Body;
}

/**
 * Upgrades a service to the newest version of its template; with `dry_run`, only reports the
 * changes. When the new version has other hosts, it gets the credentials only if the caller names
 * them again.
 */
export async function upgradeService(
  deps: Deps,
  { principal, name, body }: UpgradeServiceFields,
  deadline: Deadline,
): Promise<UpgradeReply> {
  const caller = deps.readPrincipal(principal);
  const service = await getWritableService(deps.db, caller, name);
  const { before, after } = await getUpgradeVersions(deps, service, body.version);
  const difference = differenceBetween(before, after);
  const replyFields = { from: before.version, to: after.version, difference };
  if (body.dry_run === true) {
    return {
      ...replyFields,
      service: await presentUpgraded(deps, caller, { service, template: before, deadline }),
    };
  }
  const variables = keptVariablesFor(after, service, body.variables);
  const baseUrl = service.isBaseUrlGiven ? service.baseUrl : undefined;
  const { isPlainHttpAllowed } = deps;
  const chosenCredentials = await chooseCredentials(
    deps,
    {
      caller,
      template: after,
      tier: service.tier,
      name: service.name,
      variables,
      addressOf: (way) =>
        addressOf(after, {
          ...way,
          variables,
          baseUrl,
          isPlainHttpAllowed,
          knownHost: service.hosts[0],
        }),
      given: body.credentials
        ? credentialsIn(body.credentials)
        : keptCredentialsFor(after, service),
      isNamed: body.credentials !== undefined,
    },
    deadline,
  );
  const { address } = chosenCredentials;
  const upgradedAddress = { ...address, template: toReference(after) };
  await allowHosts(
    deps,
    { principal, toAllow: chosenCredentials.toAllow, service: upgradedAddress },
    deadline,
  );
  const { secrets, connection } = chosenCredentials;
  const changedService = { ...service, ...address, secrets, connection };
  const offeredTools =
    after.mcp && (await askForTools(deps, { service: changedService, template: after }, deadline));
  const upgraded = await saveUpgrade(deps, caller, {
    service,
    after,
    chosen: chosenCredentials,
    offered: offeredTools,
  });
  const shown = await presentUpgraded(deps, caller, {
    service: upgraded,
    template: await getTemplateVersion(deps, {
      orgId: caller.orgId,
      template: upgraded.template,
    }),
    deadline,
  });
  const { toAllow } = chosenCredentials;
  return { ...replyFields, service: { ...shown, ...presentAddedHosts(toAllow) } };
}

async function getUpgradeVersions(
  deps: Deps,
  service: Service,
  wantedVersion: number | undefined,
): Promise<{ before: CompiledTemplate; after: CompiledTemplate }> {
  const { orgId, template, name } = service;
  const newest = newestVersionOf(deps.catalog, service);
  if (newest === null || newest === template.version) {
    throw new AppError(
      'conflict',
      `The service "${name}" has the newest version of its template already.`,
    );
  }
  if (wantedVersion !== undefined && wantedVersion !== newest) {
    const message = `Version ${newest} is the newest by now; look at what it changes first.`;
    throw new AppError('conflict', message, { details: { newest_version: newest } });
  }
  const [before, after] = await Promise.all([
    getTemplateVersion(deps, { orgId, template }),
    getTemplateVersion(deps, { orgId, template: { ...template, version: newest } }),
  ]);
  return { before, after };
}

/** The values of those variables that the new version still has. */
function keptVariablesFor(
  template: CompiledTemplate,
  service: Service,
  givenVariables: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  if (givenVariables !== undefined) return givenVariables;
  const knownVariables = new Set(
    serversOf(template).flatMap(({ variables }) => variables.map(({ name }) => name)),
  );
  return Object.fromEntries(
    Object.entries(service.variables).filter(([name]) => knownVariables.has(name)),
  );
}

/** The credentials of those security schemes that the new version still has. */
function keptCredentialsFor({ auth }: CompiledTemplate, service: Service): GivenCredentials {
  const knownSchemes = new Set(
    auth.filter(({ type }) => type === 'apiKey').map(({ scheme }) => scheme),
  );
  const secrets = Object.entries(service.secrets).filter(([scheme]) => knownSchemes.has(scheme));
  const hasOAuthScheme = auth.some(({ type }) => type === 'oauth2');
  return {
    secrets: Object.fromEntries(secrets),
    connection: hasOAuthScheme ? service.connection : null,
  };
}

interface UpgradeToSave {
  readonly service: Service;
  readonly after: CompiledTemplate;
  readonly chosen: ChosenCredentials;
  /** The tools of the MCP server that the new version names. */
  readonly offered: OfferedTools | undefined;
}

function saveUpgrade(
  { db }: Deps,
  caller: Principal,
  { service, after, chosen, offered }: UpgradeToSave,
): Promise<Service> {
  const { address } = chosen;
  return db.transaction(async (tx) => {
    const upgraded = await services.upgradeService(tx, {
      orgId: service.orgId,
      id: service.id,
      from: service.template.version,
      to: after.version,
      title: after.title,
      ...address,
      secrets: chosen.secrets,
      connection: chosen.connection,
      schemes: chosen.schemes,
    });
    if (upgraded === undefined) throw changedMeanwhile(service.name);
    if (offered !== undefined) await saveOfferedTools(tx, upgraded, { offered });
    const clause = `template ${after.key} from version ${service.template.version} to ${after.version}, at ${address.baseUrl}`;
    await appendEvent(tx, serviceChangedEvent(caller, upgraded, [clause]));
    if (offered === undefined) return upgraded;
    const serviceKey = { orgId: service.orgId, serviceId: service.id };
    return (await services.lockService(tx, serviceKey)) ?? upgraded;
  });
}

async function presentUpgraded(
  deps: Deps,
  caller: Principal,
  {
    service,
    template,
    deadline,
  }: { service: Service; template: CompiledTemplate; deadline: Deadline },
): Promise<UpgradeReply['service']> {
  const shownService = { ...caller, services: [service] };
  const existingCredentials = await findCredentialsOfServices(
    deps.executor,
    shownService,
    deadline,
  );
  return presentService(service, {
    template,
    existing: existingCredentials,
    newest: newestVersionOf(deps.catalog, service),
  });
}
