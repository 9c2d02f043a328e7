import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { ConnectedService, updateServiceBody } from '#contracts/http/services';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { actionServerUrls, hostIn } from '#templates';
import { newestVersionOf } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { credentialsIn } from './domain/credential-choices.ts';
import { presentService } from './domain/present-service.ts';
import { serviceChangedEvent } from './domain/service-events.ts';
import { addressOf, waysWithVariables } from './domain/service-address.ts';
import type { ServiceAddress } from './domain/service-address.ts';
import type { Service } from './domain/service.ts';
import { allowHosts, presentAddedHosts } from './allow-hosts.ts';
import { chooseCredentials } from './choose-credentials.ts';
import type { ChosenCredentials, Way } from './choose-credentials.ts';
import { findCredentialsOfServices } from './find-credentials.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';
import { changedMeanwhile, getWritableService } from './get-writable-service.ts';
import * as services from './connected-service.sql.ts';

type Body = z.infer<typeof updateServiceBody>;

/**
 * Changes a service: its credentials, whether its reads need a rule, and whether it is disabled.
 */
export async function updateService(
  deps: Deps,
  { principal, name, body }: { principal: string; name: string; body: Body },
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.readPrincipal(principal);
  const { orgId } = caller;
  const service = await getWritableService(deps.db, caller, name);
  const { id, tier } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const givenCredentials = body.credentials && credentialsIn(body.credentials);
  const wantedCredentials = {
    caller,
    template,
    tier,
    name: service.name,
    isNamed: true,
    variables: {},
    addressOf: (way: Way) => requireSameAddress(deps, { service, template, way }),
  };
  const chosenCredentials =
    givenCredentials &&
    (await chooseCredentials(deps, { ...wantedCredentials, given: givenCredentials }, deadline));
  // The data for the answer is loaded before the change, because a failure after the change would
  // report an error although the change was made.
  const shownService = { ...caller, services: [chosenCredentials ?? service] };
  const existingCredentials = await findCredentialsOfServices(
    deps.executor,
    shownService,
    deadline,
  );

  if (chosenCredentials)
    await allowHosts(deps, { principal, toAllow: chosenCredentials.toAllow, service }, deadline);
  const storedService = await deps.db.transaction(async (tx) => {
    const updatedService = await services.updateService(tx, {
      orgId,
      id,
      autoAllowReads: body.auto_allow_reads,
      isDisabled: body.disabled,
      credentials: chosenCredentials,
      templateVersion: service.template.version,
    });
    if (updatedService === undefined) throw changedMeanwhile(name);
    await appendEvent(
      tx,
      serviceChangedEvent(caller, updatedService, describeChanges(body, chosenCredentials)),
    );
    return updatedService;
  });
  const shown = presentService(storedService, {
    template,
    existing: existingCredentials,
    newest: newestVersionOf(deps.catalog, storedService),
  });
  return { ...shown, ...(chosenCredentials && presentAddedHosts(chosenCredentials.toAllow)) };
}

/**
 * Returns the address of the service. Throws if the update would move a service to another address
 * although its address is fixed.
 */
function requireSameAddress(
  { isPlainHttpAllowed }: Pick<Deps, 'isPlainHttpAllowed'>,
  { service, template, way }: { service: Service; template: CompiledTemplate; way: Way },
): ServiceAddress {
  const { hosts, variables, name, isBaseUrlGiven } = service;
  const actionServers = isBaseUrlGiven ? [] : actionServerUrls(template);
  const credentialHosts = [...new Set([...hosts.slice(0, 1), ...actionServers.map(hostIn)])];
  const { baseUrl } = service;
  const sameAddress = { baseUrl, hosts, credentialHosts, variables, actionServers };
  if (template.servers === undefined || isBaseUrlGiven) return sameAddress;
  const [fitting] = waysWithVariables(
    template,
    [way, { schemes: service.schemes ?? [], account: null }],
    variables,
  );
  const address =
    fitting === way
      ? addressOf(template, {
          ...way,
          variables,
          baseUrl: undefined,
          isPlainHttpAllowed,
          knownHost: hosts[0],
        })
      : null;
  if (address?.baseUrl === service.baseUrl) return sameAddress;
  const { key } = template;
  const message = `With these credentials ${name} would be at another address. Connect ${key} with them as a service of another name.`;
  throw new AppError('conflict', message);
}

/** Describes the change in words for the audit log. */
function describeChanges(body: Body, chosenCredentials: ChosenCredentials | undefined): string[] {
  const { auto_allow_reads: autoAllowReads, disabled } = body;
  return [
    ...(autoAllowReads === undefined
      ? []
      : [`reads ${autoAllowReads ? 'need no rule' : 'need a rule'}`]),
    ...(disabled === undefined ? [] : [disabled ? 'disabled' : 'enabled']),
    ...(chosenCredentials === undefined
      ? []
      : [`uses ${describeCredentials(chosenCredentials) || 'no credential'}`]),
  ];
}

function describeCredentials({ secrets, connection }: ChosenCredentials): string {
  return [...Object.values(secrets), ...(connection === null ? [] : [connection])].join(', ');
}
