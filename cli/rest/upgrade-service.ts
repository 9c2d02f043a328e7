import type { z } from 'zod';

import type { upgradeReply } from '#contracts/http/services';
import type { TemplateDifference } from '#contracts/http/templates';
import { spellLineEnds } from '../words.ts';
import type { RestCall } from './command.ts';
import { readPairs, readVersionOption } from './input.ts';
import type { Answer, Cell } from './output.ts';
import { describeAddedHosts } from './services.ts';

interface UpgradeOptions {
  readonly dryRun?: true;
  readonly version?: string;
  readonly secret?: readonly string[];
  readonly connection?: string;
  readonly variable?: readonly string[];
}

/**
 * `action-gateway services upgrade <service>`: pins the newest version of the service's template,
 * and prints how it differs from the version before. With `--dry-run` it changes nothing.
 */
export async function upgradeService({
  api,
  args: [name = ''],
  options,
}: RestCall<UpgradeOptions>): Promise<Answer> {
  const { dryRun, version, secret, connection, variable } = options;
  const wantedVersion = readVersionOption(version);
  const credentials = {
    ...(secret !== undefined && { secrets: readPairs(secret, '--secret', 'scheme=name') }),
    ...(connection !== undefined && { connection }),
  };
  const upgrade = await api.request<z.infer<typeof upgradeReply>>(
    'POST',
    `/v1/services/${encodeURIComponent(name)}/upgrade`,
    {
      body: {
        ...(wantedVersion !== undefined && { version: wantedVersion }),
        ...(variable !== undefined && {
          variables: readPairs(variable, '--variable', 'name=value'),
        }),
        ...(Object.keys(credentials).length > 0 && { credentials }),
        ...(dryRun !== undefined && { dry_run: true }),
      },
    },
  );
  const { from, to, difference, rules_that_stop: rules, service } = upgrade;
  const sentence =
    dryRun === undefined
      ? `${name} has version ${to} of its template instead of version ${from}, and is ${service.status}.`
      : `Nothing is changed. To upgrade from version ${from} to this one: ${api.spellCommand(...wordsFor(name, to, options))}`;
  return {
    data: upgrade,
    show: {
      header: ['CHANGE', 'OF', 'WHAT'],
      table: [
        ...listDifferences(difference),
        ...(rules ?? []).map(({ id, pattern }) => ['matches nothing', 'rule', `${id} ${pattern}`]),
      ],
    },
    note: [
      sentence,
      ...(rules === undefined ? ['Rules that match nothing any more could not be read.'] : []),
      ...describeAddedHosts(service),
    ]
      .map(spellLineEnds)
      .join('\n'),
  };
}

/** The command that does what a dry run has only said. */
function wordsFor(
  name: string,
  version: number,
  { secret = [], connection, variable = [] }: UpgradeOptions,
): string[] {
  return [
    'services',
    'upgrade',
    name,
    '--version',
    String(version),
    ...secret.flatMap((each) => ['--secret', each]),
    ...(connection === undefined ? [] : ['--connection', connection]),
    ...variable.flatMap((each) => ['--variable', each]),
  ];
}

function listDifferences({ actions, hosts, base_url: url, auth }: TemplateDifference): Cell[][] {
  return [
    ...rowsOf('host', hosts),
    ...(url === null ? [] : [['changed', 'address', `${url.from ?? ''} → ${url.to ?? ''}`]]),
    ...rowsOf('credential', auth),
    ...auth.changed.map((scheme) => ['changed', 'credential', scheme]),
    ...(auth.combinations ? [['changed', 'credential', 'which are needed together']] : []),
    ...rowsOf('action', actions),
    ...actions.changed.map(({ action, parts }) => {
      return ['changed', 'action', `${action}: ${parts.join(', ')}`];
    }),
  ];
}

interface Changed {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

function rowsOf(what: string, { added, removed }: Changed): Cell[][] {
  return [
    ...added.map((name) => ['added', what, name]),
    ...removed.map((name) => ['removed', what, name]),
  ];
}
