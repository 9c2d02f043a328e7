import type { NeededCredential, TemplateDetail } from '#contracts/http/templates';
import { readVersionOption } from './input.ts';
import type { RestCall } from './command.ts';
import type { Answer, Cell } from './output.ts';

interface ShowOptions {
  readonly tier?: string;
  readonly version?: string;
}

/**
 * `action-gateway templates show <key>`: shows a template with its actions, and the options with
 * which `services connect` gives the credentials that it needs. Without `--tier`, that is the
 * most specific template with this key.
 */
export async function showTemplate({
  api,
  args: [key = ''],
  options: { tier, version },
}: RestCall<ShowOptions>): Promise<Answer> {
  const template = await api.request<TemplateDetail>(
    'GET',
    `/v1/templates/${encodeURIComponent(key)}`,
    { query: { tier, version: readVersionOption(version) } },
  );
  return {
    data: template,
    show: {
      facts: listFacts(template),
      body: {
        header: ['ACTION', 'RISK', 'SUMMARY'],
        table: template.actions.map(({ action, risk, summary }) => [action, risk, summary]),
      },
    },
  };
}

function listFacts(template: TemplateDetail): (readonly [string, Cell])[] {
  const { published_version: published, latest_version: latest, ways } = template;
  return [
    ['template', template.key],
    ['title', template.title],
    ['description', template.description || null],
    ['category', template.category || null],
    ['tier', template.tier],
    ['status', template.status],
    ['version', template.version],
    ['published version', published === template.version ? null : published],
    ['latest version', latest === template.version ? null : latest],
    ['address', template.base_url ?? template.mcp_server],
    ['hosts', template.hosts.join(', ')],
    ...template.variables.map(
      ({ name, description, default: value }) =>
        [
          'variable',
          [name, ...(value === null ? [] : [`(default: ${value})`]), description].join(' '),
        ] as const,
    ),
    ...(ways ?? []).map(
      (way) => ['connect with', way.map(describeCredential).join(' and ')] as const,
    ),
    ...(ways?.length === 0 ? [['connect with', 'no credential'] as const] : []),
  ];
}

/** The option of `services connect` for a credential, and what it is. */
function describeCredential(credential: NeededCredential): string {
  const { kind, scheme, label } = credential;
  const what = label === undefined ? '' : `${label}, `;
  if (kind === 'connection') return `--account (${what}of the provider ${credential.provider})`;
  const { parts, encoding, sent_as: place } = credential;
  const form = encoding === 'basic' ? ', a secret of the form user:password' : '';
  const members =
    parts === undefined ? '' : `, JSON with ${parts.map(({ name }) => name).join(', ')}`;
  return `--secret ${scheme}=NAME (${what}sent as ${place}${form}${members})`;
}
