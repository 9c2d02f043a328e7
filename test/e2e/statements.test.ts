import { describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { statementsOf, tenantTablesOf } from '../support/statements.ts';

const schemas = components.filter((component) => component !== 'gateway');

describe.for(schemas.map((schema) => [schema] as const))('the SQL of %s', ([schema]) => {
  const statements = statementsOf(schema);
  const tenantTables = tenantTablesOf(schema);
  const isWholeStatement = (text: string) => /^(with|select|insert|update|delete)\b/.test(text);
  const tablesIn = (text: string) =>
    [...text.matchAll(/\b(?:from|join|into|update|using) (\w+\.\w+)/g)].map(
      ([, table = '']) => table,
    );

  test('contains the org in every statement on rows that belong to an org', () => {
    const statementsWithoutOrg = statements
      .filter(
        ({ text }) =>
          isWholeStatement(text) && tablesIn(text).some((table) => tenantTables.includes(table)),
      )
      .filter(({ text }) => !isBoundToOrg(text))
      .map(({ file, within }) => `${file} ${within}`);

    expect(new Set(statementsWithoutOrg)).toEqual(
      new Set(Object.keys(reasonsAcrossOrgs).filter((place) => place.startsWith(`${schema}/`))),
    );
  });

  test("touches no other component's schema", () => {
    const others = schemas.filter((each) => each !== schema);
    const foreignTablePattern = new RegExp(`\\b(?:${others.join('|')}|public|pg_catalog)\\.\\w+`);
    expect(statements.filter(({ text }) => foreignTablePattern.test(text))).toEqual([]);
  });

  test('has the schema before the name of every table', () => {
    const bareTablePattern =
      /\b(?:from|join|into|update|using) (?!lateral|unnest|jsonb|json_|generate_series|set\b|skip\b|of\b)([a-z_]+)\b(?![.(])/g;
    const bareNames = statements.flatMap(({ file, within, text }) => {
      const ownNames = new Set(
        [...text.matchAll(/\b(\w+) (?:\([^)]*\) )?as (?:not )?(?:materialized )?\(/g)].map(
          ([, name]) => name,
        ),
      );
      return [...text.matchAll(bareTablePattern)]
        .map(([, name = '']) => name)
        .filter((name) => !ownNames.has(name))
        .map((name) => `${file} ${within}: ${name}`);
    });
    expect(bareNames).toEqual([]);
  });

  test('is found by this test: more than three whole statements, and tables with rows of orgs', () => {
    expect(statements.filter(({ text }) => isWholeStatement(text)).length).toBeGreaterThan(3);
    expect(tenantTables.length).toBeGreaterThan(0);
  });
});

/** True if a select, update or delete compares the column of the org, or if an insert writes it. */
function isBoundToOrg(text: string): boolean {
  return (
    /\borg_id (?:=|in\b|is not distinct from)/.test(text) ||
    // The statement compares its rows with a parameter that lists pairs of org and id.
    /\(org_id, id\) in \(\$/.test(text) ||
    /^(?:with \w+ as \((?:\$\{…\}\))?\s*)?insert into \S+ (?:as \w+ )?\([^)]*\borg_id\b/.test(text)
  );
}

const housekeepingReason = 'retention: deletes by age alone, of every org alike';
const measureReason = 'counts rows of all orgs for a metric, which names none of them';
const sweepReason = 'finds what is due in any org; each move that follows names its org';
/** The only statements that may read rows of several orgs, each with the reason. */
const reasonsAcrossOrgs: Record<string, string> = {
  'audit/unreadable/unreadable.sql.ts countUnrecorded':
    'counts the unreadable messages of all orgs, for the status of the component',
  'audit/unreadable/unreadable.sql.ts listUnrecorded':
    'lists the unreadable messages of all orgs, which a later release records',
  'audit/records/record.sql.ts listOrgsOfRecords':
    'an id has one record in all orgs; the answer contains the org, so that another org’s is refused',
  'approvals/clocks/due.sql.ts measureWaitingApprovals': measureReason,
  'notifier/webhooks/delivery.sql.ts measureDueDeliveries': measureReason,
  'auth/sign-in-links/first-admin.sql.ts hasUsers': 'asks whether there is any user yet',
  'auth/sign-in-links/first-admin.sql.ts findFirstAdmin':
    'there is one org before anyone has signed in',
  'auth/sessions/sessions.sql.ts pruneSessions': housekeepingReason,
  'auth/sign-in-links/sign-in-links.sql.ts pruneSignInLinks': housekeepingReason,
  'auth/sign-in-providers/sign-in-flows.sql.ts consumeSignInFlow':
    'looked up by the hash of 256 random bits, which identify the org',
  'auth/sign-in-providers/sign-in-flows.sql.ts pruneSignInFlows': housekeepingReason,
  'auth/users/local-accounts.sql.ts findAccountToSignIn': 'who signs in has no org yet',
  'auth/oauth/oauth-tokens.sql.ts pruneOauthTokens': housekeepingReason,
  'auth/sessions/sign-in-devices.sql.ts isDeviceOfAnyUser':
    'checks that auth issued a cookie, before it is known who signs in',
  'auth/sessions/sign-in-devices.sql.ts pruneSignInDevices': housekeepingReason,
  'auth/oauth/oauth-interactions.sql.ts pruneInteractions': housekeepingReason,
  'registry/templates/template-version.sql.ts assignBuiltInVersion': 'built-in: of no org',
  'registry/tools/due-tools.sql.ts claimDueServices': sweepReason,
  'registry/import/upload.sql.ts pruneUploads': housekeepingReason,
  'policy/rules/rule.sql.ts pruneEndedRules': housekeepingReason,
  'executor/vault/data-key.sql.ts listMasterKeysInUse': 'master keys belong to the deployment',
  'executor/vault/data-key.sql.ts listDataKeysNotUnder': 'master keys belong to the deployment',
  'executor/calls/dispatches.sql.ts listAbandonedDispatches': sweepReason,
  'executor/calls/dispatches.sql.ts eraseOldDispatches': housekeepingReason,
  'executor/results/file.sql.ts eraseOldFiles': housekeepingReason,
  'executor/calls/idempotency.sql.ts eraseOldIdempotencyKeys': housekeepingReason,
  'executor/account-values/waiting-grant.sql.ts eraseWaitingGrants': housekeepingReason,
  'executor/secrets/secret-request.sql.ts pruneSecretRequests': housekeepingReason,
  'executor/limits/share-use.sql.ts pruneShareUse': housekeepingReason,
  'executor/connections/connection.sql.ts prunePendingConnections': housekeepingReason,
  'executor/person-requests/person-request.sql.ts expireRequests': sweepReason,
  'executor/person-requests/person-request.sql.ts pruneRequests': housekeepingReason,
  'executor/person-requests/secret-link.sql.ts listAnsweredSecretRequests': sweepReason,
  'approvals/clocks/due.sql.ts findDueWork': sweepReason,
  'approvals/approval/search-text.sql.ts listWithoutSearchText':
    'finds what an earlier release left out in any org; each update that follows names its org',
  'notifier/webhooks/delivery.sql.ts pruneDeliveries': housekeepingReason,
  'notifier/feed/feed-item.sql.ts getFeedPosition': 'positions are counted across orgs',
  'notifier/feed/feed-item.sql.ts pruneFeed': housekeepingReason,
};
