import { describe, expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { statementsOf, tenantTablesOf } from './support/statements.ts';

const schemas = components.filter((component) => component !== 'gateway');

describe.for(schemas.map((schema) => [schema] as const))('the SQL of %s', ([schema]) => {
  const statements = statementsOf(schema);
  const tenants = tenantTablesOf(schema);
  const isWhole = (text: string) => /^(with|select|insert|update|delete)\b/.test(text);
  const tablesIn = (text: string) =>
    [...text.matchAll(/\b(?:from|join|into|update|using) (\w+\.\w+)/g)].map(
      ([, table = '']) => table,
    );

  test('names the org in every statement on rows that belong to one', () => {
    const without = statements
      .filter(
        ({ text }) => isWhole(text) && tablesIn(text).some((table) => tenants.includes(table)),
      )
      .filter(({ text }) => !isBoundToOrg(text))
      .map(({ file, within }) => `${file} ${within}`);

    expect(new Set(without)).toEqual(
      new Set(Object.keys(acrossOrgs).filter((place) => place.startsWith(`${schema}/`))),
    );
  });

  test("touches no other component's schema", () => {
    const others = schemas.filter((each) => each !== schema);
    const foreign = new RegExp(`\\b(?:${others.join('|')}|public|pg_catalog)\\.\\w+`);
    expect(statements.filter(({ text }) => foreign.test(text))).toEqual([]);
  });

  test('names its own schema with every table', () => {
    const bare =
      /\b(?:from|join|into|update|using) (?!lateral|unnest|jsonb|json_|generate_series|set\b|skip\b|of\b)([a-z_]+)\b(?![.(])/g;
    const bareNames = statements.flatMap(({ file, within, text }) => {
      const ownNames = new Set(
        [...text.matchAll(/\b(\w+) (?:\([^)]*\) )?as (?:not )?(?:materialized )?\(/g)].map(
          ([, name]) => name,
        ),
      );
      return [...text.matchAll(bare)]
        .map(([, name = '']) => name)
        .filter((name) => !ownNames.has(name))
        .map((name) => `${file} ${within}: ${name}`);
    });
    expect(bareNames).toEqual([]);
  });

  test('is found at all', () => {
    expect(statements.filter(({ text }) => isWhole(text)).length).toBeGreaterThan(3);
    expect(tenants.length).toBeGreaterThan(0);
  });
});

/** A select, update or delete compares the org; an insert stores it. */
function isBoundToOrg(text: string): boolean {
  return (
    /\borg_id (?:=|in\b|is not distinct from)/.test(text) ||
    // A pair of the org and the id is compared with pairs that were handed in.
    /\(org_id, id\) in \(\$/.test(text) ||
    /^insert into \S+ (?:as \w+ )?\([^)]*\borg_id\b/.test(text)
  );
}

const housekeeping = 'retention: deletes by age alone, of every org alike';
const sweep = 'finds what is due in any org; each move that follows names its org';
/** The only statements that look across orgs, and why they must. */
const acrossOrgs: Record<string, string> = {
  'audit/repository/records.ts listHolders':
    'an id has one record, whichever org it is of; answers with the org, so that another is refused',
  'auth/repository/bootstrap.ts hasUsers': 'asks whether there is any user yet',
  'auth/repository/bootstrap.ts findFirstAdmin': 'before anybody has signed in there is one org',
  'auth/repository/sessions.ts pruneSessions': housekeeping,
  'auth/repository/sign-in-links.ts pruneSignInLinks': housekeeping,
  'auth/repository/sign-in-flows.ts consumeFlow':
    'by the hash of 256 random bits, which tell the org',
  'auth/repository/sign-in-flows.ts pruneFlows': housekeeping,
  'auth/repository/local-accounts.ts findAccountToSignIn': 'who signs in has no org yet',
  'auth/repository/oauth-tokens.ts pruneOauthTokens': housekeeping,
  'auth/repository/sign-in-devices.ts isDeviceOfAnyone':
    'whether a cookie was made here, before it is known who signs in',
  'auth/repository/sign-in-devices.ts pruneSignInDevices': housekeeping,
  'auth/repository/oauth-interactions.ts pruneInteractions': housekeeping,
  'registry/repository/template-version.ts numberBuiltInTemplate': 'built-in: of no org',
  'registry/repository/toolset.ts claimDueServices': sweep,
  'registry/repository/upload.ts pruneUploads': housekeeping,
  'policy/repository/rules.ts pruneEndedRules': housekeeping,
  'executor/repository/data-key.ts listMasterKeysInUse': 'master keys belong to the deployment',
  'executor/repository/data-key.ts listDataKeysNotUnder': 'master keys belong to the deployment',
  'executor/repository/dispatch.ts listAbandonedDispatches': sweep,
  'executor/repository/dispatch.ts eraseOldDispatches': housekeeping,
  'executor/repository/file.ts eraseOldFiles': housekeeping,
  'executor/repository/idempotency.ts eraseOldIdempotency': housekeeping,
  'executor/repository/secret-request.ts pruneSecretRequests': housekeeping,
  'executor/repository/share-use.ts pruneShareUse': housekeeping,
  'executor/repository/connection.ts prunePendingConnections': housekeeping,
  'approvals/repository/due.ts findDue': sweep,
  'notifier/repository/delivery.ts pruneDeliveries': housekeeping,
  'notifier/repository/feed-item.ts getFeedPosition': 'positions are counted across orgs',
  'notifier/repository/feed-item.ts pruneFeed': housekeeping,
};
