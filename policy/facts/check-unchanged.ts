import { isDeepStrictEqual } from 'node:util';

import type { Gap, Injection } from '#contracts/permit';
import { AppError } from '#errors';
import { templateDigest } from '#templates';
import { mayGoTo } from '../domain/hosts.ts';
import type { Lookups } from '../lookups/lookups.ts';
import { actionDisabled } from './action-facts.ts';
import { connectionMissing, findConnection, refusalOfConnection } from './connections.ts';
import { findSecret, findServiceCredentials } from './credentials.ts';
import { getConnectedService } from './services.ts';
import { stale } from './stale.ts';

/** The service, its template version, its address and every credential are what was approved. */
export async function checkUnchanged(lookups: Lookups, gap: Gap): Promise<void> {
  const [host = ''] = gap.hosts;
  await Promise.all([checkSecrets(lookups, gap, host), checkConnections(lookups, gap, host)]);
  const { target } = gap;
  if (target.kind === 'raw') return;

  const { service, template } = await getConnectedService(lookups, gap, target.service);
  if (service.id !== target.serviceId) {
    throw stale('service', `The name ${target.service} stands for another service now.`);
  }
  if (
    !isDeepStrictEqual(service.template, target.template) ||
    templateDigest(template) !== gap.templateDigest
  ) {
    throw stale('template', `The service ${service.name} uses another template version now.`);
  }
  if (service.baseUrl !== target.baseUrl) {
    throw stale('service', `The service ${service.name} has another address now.`);
  }
  const action = target.kind === 'action' ? template.actions[target.action] : undefined;
  if (target.kind === 'action' && (action === undefined || action.disabled)) {
    throw actionDisabled(service.name, target.action);
  }
  const injections = await findServiceCredentials(lookups, {
    owner: gap,
    service,
    template,
    host,
    isKeyed: target.kind === 'verb',
    minimumScopes: action?.minimumScopes ?? null,
  }).catch((error: unknown) => {
    throw asChange(error);
  });
  const approved =
    target.kind === 'verb' ? gap.injections.slice(0, injections.length) : gap.injections;
  if (!isDeepStrictEqual(injections, approved)) throw credentialChanged();
}

async function checkSecrets(lookups: Lookups, gap: Gap, host: string): Promise<void> {
  const injections = gap.injections.filter(({ kind }) => kind === 'secret');
  const known = await lookups.describeSecrets(gap, namesOf(injections));
  const isKeyed = gap.target.kind !== 'action';
  for (const injection of injections) {
    const secret = findSecret(known, injection.credentialName);
    if (secret === undefined) throw missing(injection);
    const isSame =
      secret.id === injection.credentialId && secret.reference === injection.credentialName;
    if (!isSame || !mayGoTo(secret, host, { isKeyed })) throw credentialChanged();
  }
}

/** That the token was refreshed is no change: it is the same account's. */
async function checkConnections(lookups: Lookups, gap: Gap, host: string): Promise<void> {
  const injections = gap.injections.filter(({ kind }) => kind === 'connection');
  const known = await lookups.describeConnections(gap, namesOf(injections));
  for (const injection of injections) {
    const connection = findConnection(known, injection.credentialName);
    if (connection === undefined) throw connectionMissing(injection.credentialName, null);
    const isSame =
      connection.id === injection.credentialId && connection.reference === injection.credentialName;
    if (!isSame) throw credentialChanged();
    // Which scopes it needs, its service says.
    const refusal = refusalOfConnection(connection, { host, minimumScopes: null });
    if (refusal !== undefined) throw asChange(refusal);
  }
}

function namesOf(injections: readonly Injection[]): string[] {
  return [...new Set(injections.map(({ credentialName }) => credentialName))];
}

/** That a credential may not go there any more is a change, not something to allow again. */
function asChange(error: unknown): unknown {
  const isClosed = error instanceof AppError && error.code === 'host_not_allowed';
  return isClosed ? credentialChanged() : error;
}

function missing({ credentialName }: Injection): AppError {
  return new AppError(
    'credential_missing',
    `The secret "${credentialName}" is gone. Create it again, then repeat the call.`,
    { details: { secret: credentialName } },
  );
}

function credentialChanged(): AppError {
  return stale('credential', 'The call would go out with another credential than was approved.');
}
