import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { ConnectedService, updateServiceBody } from '#contracts/http/services';
import { appendEvent } from '#events';
import { newestVersionOf } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { givenIn } from '../domain/credential-choices.ts';
import { presentService } from '../domain/present-service.ts';
import { serviceChanged } from '../domain/service-events.ts';
import { chooseCredentials, openHosts } from '../lookups/chosen-credentials.ts';
import type { ChosenCredentials } from '../lookups/chosen-credentials.ts';
import { findCredentialsOf } from '../lookups/existing-credentials.ts';
import { getTemplateVersion } from '../lookups/template-version.ts';
import { changedSince, getWritableService } from '../lookups/writable-service.ts';
import * as services from '../repository/connected-service.ts';

type Body = z.infer<typeof updateServiceBody>;

/** Changes whether reads need no rule, which credentials a service uses, and whether it can be used. */
export async function updateService(
  deps: Deps,
  { principal, name, body }: { principal: string; name: string; body: Body },
  deadline: Deadline,
): Promise<ConnectedService> {
  const caller = deps.readPrincipal(principal);
  const { orgId } = caller;
  const service = await getWritableService(deps.db, caller, name);
  const { id, tier, hosts } = service;
  const template = await getTemplateVersion(deps, { orgId, template: service.template });
  const given = body.credentials && givenIn(body.credentials);
  const wanted = { caller, template, tier, name: service.name, hosts, isNamed: true };
  const chosen = given && (await chooseCredentials(deps, { ...wanted, given }, deadline));
  // What is shown is looked up first: after the change nothing may fail any more.
  const shown = { ...caller, services: [chosen ?? service] };
  const existing = await findCredentialsOf(deps.executor, shown, deadline);

  if (chosen) await openHosts(deps, { principal, toOpen: chosen.toOpen, service }, deadline);
  const changed = await deps.db.transaction(async (tx) => {
    const updated = await services.updateService(tx, {
      orgId,
      id,
      autoAllowReads: body.auto_allow_reads,
      isDisabled: body.disabled,
      credentials: chosen,
      templateVersion: service.template.version,
    });
    if (updated === undefined) throw changedSince(name);
    await appendEvent(tx, serviceChanged(caller, updated, clausesOf(body, chosen)));
    return updated;
  });
  return presentService(changed, {
    template,
    existing,
    newest: newestVersionOf(deps.catalog, changed),
  });
}

/** The change in words, for the audit log. */
function clausesOf(body: Body, chosen: ChosenCredentials | undefined): string[] {
  const { auto_allow_reads: autoAllowReads, disabled } = body;
  return [
    ...(autoAllowReads === undefined
      ? []
      : [`reads ${autoAllowReads ? 'need no rule' : 'need a rule'}`]),
    ...(disabled === undefined ? [] : [disabled ? 'disabled' : 'enabled']),
    ...(chosen === undefined ? [] : [`uses ${namesOf(chosen) || 'no credential'}`]),
  ];
}

function namesOf({ secrets, connection }: ChosenCredentials): string {
  return [...Object.values(secrets), ...(connection === null ? [] : [connection])].join(', ');
}
