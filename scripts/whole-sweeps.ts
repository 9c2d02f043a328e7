/**
 * The environment variables with which `npm run test:all` makes each sweep run in full. Without
 * them, as in `npm test`, a sweep runs only a sample. Most sweeps also have an npm script, which
 * sets the same variable.
 */
export const wholeSweeps: Readonly<Record<string, string>> = {
  SWEEPS: 'all',
  BUDGET: 'all',
  DISK_FULL_SECONDS: '120',
  FORBIDDEN_URLS: 'all',
  FLOOD_CALLS: '10000',
  HOSTILE_CALLS: '100',
  JQ_HOSTILE: '500',
  OAUTH_RACE_ROUNDS: '200',
  PROPERTY_RUNS: '1000000',
  RESOLVE_RACE_APPROVALS: '1000',
  ROLLING_CALLS: '100000',
  VAULT_CALLS_PER_SECOND: '200',
  VAULT_EVERY_PAIR: '1',
  VAULT_KILLS: '20',
  VAULT_ORGS: '5000',
  VAULT_PHASE_MS: '3000',
};

/** A single test of a full sweep may take an hour. */
export const wholeTimeoutMs = 3_600_000;
