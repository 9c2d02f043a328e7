import type { Deadline } from '#bus';
import type { ServiceRequestBody } from '#contracts/http/requests';
import type { Template } from '#contracts/http/templates';
import { platformKey } from '#contracts/platform';
import type { Tier } from '#contracts/vocabulary';
import { AppError, nearestName } from '#errors';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import type { Deps } from '../deps.ts';
import { findRefusedSecretName } from '../credentials/refusal.sql.ts';
import type { Owners } from '../sending/ask-owner.ts';

interface WantedService {
  readonly signed: string;
  readonly body: ServiceRequestBody;
}

const dryRun = { timeoutMs: 5_000, maxRisk: null, idempotencyKey: null };

/**
 * Throws `forbidden` when a rule denies `platform:request_service:<template>` to the caller,
 * whichever route the caller used.
 */
export async function requireNoDeny(
  { policy }: Pick<Owners, 'policy'>,
  { signed, body: { kind: _, ...params } }: WantedService,
  deadline: Deadline,
): Promise<void> {
  const call = {
    kind: 'action',
    service: platformKey,
    action: 'request_service',
    params,
    filter: null,
  } as const;
  const { outcome, why } = await askPolicy(() =>
    policy.explain({ principal: signed, call, options: dryRun, asIdentityId: null }, deadline),
  );
  if (outcome !== 'denied') return;
  throw new AppError('forbidden', 'A rule denies to ask for this service.', {
    details: { reason: 'denied_by_rule', why },
  });
}

/**
 * A policy replica of an earlier release does not know this action; another replica may know it.
 */
async function askPolicy<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code !== 'unknown_action') throw error;
    throw new AppError('unavailable', 'Requests are not available yet; try again in a minute.', {
      cause: error,
    });
  }
}

/**
 * The published template of the org, or else the built-in one. Templates of a single user cannot be
 * requested.
 */
export async function getWantedTemplate(
  { registry }: Pick<Owners, 'registry'>,
  { signed: principal, body }: WantedService,
  deadline: Deadline,
): Promise<Pick<Template, 'key' | 'title' | 'hosts'>> {
  const findTemplate = (tier: 'org' | 'user' | 'global') =>
    registry.getTemplate({ principal, key: body.template, tier, version: null }, deadline);
  const ofOrg = await orUndefined('not_found', findTemplate('org'));
  // The registry's error suggests naming another tier. In a request, the tier decides who answers
  // it, so this advice would be wrong.
  const findBuiltIn = async () => {
    try {
      return await findTemplate('global');
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (error.code !== 'not_found') throw error;
      if (ofOrg !== undefined) throw notConnectableError(body.template);
      const ofUser = await orUndefined('not_found', findTemplate('user'));
      throw ofUser === undefined ? error : isOfUserError(body.template);
    }
  };
  const template = ofOrg?.status === 'published' ? ofOrg : await findBuiltIn();
  if (template.status !== 'published') throw notConnectableError(body.template);
  requireActions(template, body.actions ?? []);
  return { ...template, hosts: template.hosts.slice(0, 50) };
}

const notConnectableError = (key: string) =>
  new AppError('not_found', `The template "${key}" cannot be connected: it is not published.`);

const isOfUserError = (key: string) =>
  new AppError(
    'not_found',
    `The template "${key}" is your user's own, and only your user can connect it. Tell your user to connect it on the page /services/new.`,
  );

/**
 * The tools of an MCP server are known only after it is connected, so their names are not checked.
 */
function requireActions(
  { key, runtime, actions }: Template & { actions: readonly { action: string }[] },
  wanted: readonly string[],
): void {
  if (runtime === 'mcp') return;
  const unknownIndex = wanted.findIndex((name) => !actions.some(({ action }) => action === name));
  if (unknownIndex === -1) return;
  const message = `is no action of the template "${key}"`;
  const givenValue = wanted[unknownIndex] ?? '';
  const names = actions.map(({ action }) => action);
  const suggestion = nearestName(givenValue, names);
  const hint = suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`;
  throw new AppError('invalid_params', `"${givenValue}" ${message}.${hint}`, {
    details: { issues: [{ path: `actions.${unknownIndex}`, message, did_you_mean: suggestion }] },
  });
}

interface WantedName {
  readonly orgId: string;
  readonly userId: string;
  readonly tier: Tier;
  readonly name: string;
}

/**
 * Throws `conflict` when the owner already has a service with this name. If the provider has
 * refused a secret of that service, the error names the secret, because the caller then needs a new
 * value for it.
 */
export async function requireFreeName(
  { db, owners: { registry } }: Pick<Deps, 'db' | 'owners'>,
  { orgId, userId, tier, name }: WantedName,
  deadline: Deadline,
): Promise<void> {
  const reference = referenceOf({ tier, name });
  const connected = await orUndefined(
    'unknown_service',
    registry.resolveService({ orgId, userId, name: reference }, deadline),
  );
  if (connected?.tier !== tier) return;
  const references = Object.values(connected.secrets);
  const secret = await findRefusedSecretName(db, { orgId, userId, references });
  const remedy =
    secret === undefined
      ? 'call it, or ask for another name'
      : `its provider refuses the secret "${secret}", so ask for a new value of that`;
  throw new AppError('conflict', `A service "${reference}" is connected already; ${remedy}.`, {
    details: {
      reason: 'name_taken',
      service: reference,
      ...(secret === undefined ? {} : { refused_secret: secret }),
    },
  });
}

async function orUndefined<Found>(
  code: 'not_found' | 'unknown_service',
  lookup: Promise<Found>,
): Promise<Found | undefined> {
  try {
    return await lookup;
  } catch (thrown) {
    const error = AppError.from(thrown);
    if (error.code === code) return undefined;
    throw error;
  }
}
