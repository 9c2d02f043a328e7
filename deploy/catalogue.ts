import { readFileSync, readdirSync } from 'node:fs';

import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { builtInProviders } from '#providers';
import { compileTemplate } from '../registry/compiler/domain/template.ts';
import { buildScopePresets } from '../registry/templates/domain/scope-presets.ts';

const templatesFolder = new URL('../service-templates/', import.meta.url);

/**
 * Writes `docs/services.md`: for each built-in template how its services authenticate, and which
 * actions with which risk it has.
 */
export function renderCatalogue(): string {
  const templates = readdirSync(templatesFolder)
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => compile(name))
    .toSorted((left, right) => left.title.localeCompare(right.title, 'en'));
  const actionCount = templates.reduce((sum, { actions }) => sum + Object.keys(actions).length, 0);
  const lines = [
    '# Built-in services',
    '',
    `${templates.length} templates with ${actionCount} actions. \`npm run generate\` generates this page from [service-templates](../service-templates).`,
    '[writing-templates.md](writing-templates.md) explains how to write a template.',
    '',
    '| Template | Category | Authentication | Actions |',
    '|---|---|---|---|',
    ...templates.map(
      (template) =>
        `| [${template.title}](#${anchorOf(template)}) \`${template.key}\` | ${template.category} | ${authOf(template)} | ${actionCountsOf(template)} |`,
    ),
    '',
    '## Accounts',
    '',
    'The kinds of accounts by which a person can connect each service, with the fewest scopes for all reads, and the further',
    'scopes for all actions. Scopes that [another listed scope implies](reference/credentials.md#scopes) are left out.',
    '',
    '| Template | Account | Acts as | Scopes for reads | Further scopes for all actions |',
    '|---|---|---|---|---|',
    ...templates.flatMap(accountRowsOf),
    ...templates.flatMap(sectionOf),
  ];
  return `${lines.join('\n')}\n`;
}

function compile(name: string): CompiledTemplate {
  const text = readFileSync(new URL(name, templatesFolder), 'utf8');
  const { template, report } = compileTemplate(text, { tier: 'global', ownerId: null, version: 1 });
  if (!template) throw new Error(`${name} does not compile: ${JSON.stringify(report.errors)}`);
  return template;
}

function sectionOf(template: CompiledTemplate): string[] {
  if (template.runtime === 'mcp') return serverSectionOf(template);
  return [
    '',
    `## ${template.title}`,
    '',
    template.description,
    '',
    '| Action | Risk | What it does | A rule can name |',
    '|---|---|---|---|',
    ...Object.values(template.actions).map(actionRowOf),
  ];
}

/**
 * The section of a template for an MCP server. The tools of the server are known only after it is
 * connected, so the section lists what the template itself defines.
 */
function serverSectionOf({ title, description, mcp }: CompiledTemplate): string[] {
  const namedOverrides = Object.entries(mcp?.overrides ?? {});
  const namesOf = (risk: string) =>
    namedOverrides.filter(([, tool]) => tool.risk === risk).map(([name]) => `\`${name}\``);
  return [
    '',
    `## ${title}`,
    '',
    `${description} The actions are the tools of its MCP server, which the gateway lists when the service is connected.`,
    '',
    `Reads: ${namesOf('read').join(', ')}. Writes: ${namesOf('write').join(', ')}, and every tool not named here.`,
  ];
}

function actionRowOf({ key, risk, summary, scopeParam }: CompiledAction): string {
  const cells = [`\`${key}\``, risk, summary, scopeOfRow(scopeParam)];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** What a rule for the action can be limited to, such as one value of a parameter. */
function scopeOfRow(scopeParam: CompiledAction['scopeParam']): string {
  if (scopeParam === null) return 'the action';
  if (typeof scopeParam === 'string') return `one \`${scopeParam}\``;
  return scopeParam
    .map(
      ({ params, label }) =>
        `one ${label ?? 'value'} (${params.map((p) => `\`${p}\``).join(', ')})`,
    )
    .join(' and ');
}

function authOf(template: CompiledTemplate): string {
  const kinds = template.auth.map((method) =>
    method.type === 'oauth2' ? `OAuth (${method.provider})` : 'secret',
  );
  return kinds.length === 0 ? 'none' : [...new Set(kinds)].join(', ');
}

function accountRowsOf(template: CompiledTemplate): string[] {
  return template.auth.flatMap((method) => {
    if (method.type !== 'oauth2') return [];
    const { read_only: reads, read_and_change: all } = buildScopePresets(template, method);
    const cells = [
      `\`${template.key}\``,
      method.label ??
        `An account at ${builtInProviders().get(method.provider)?.title ?? method.provider}`,
      method.actsAs ?? 'user',
      codesOf(reads),
      codesOf(all.filter((scope) => !reads.includes(scope))),
    ];
    return [`| ${cells.join(' | ')} |`];
  });
}

function codesOf(scopes: readonly string[]): string {
  return scopes.length === 0 ? '–' : scopes.map((scope) => `\`${scope}\``).join(' ');
}

function actionCountsOf({ actions, runtime }: CompiledTemplate): string {
  if (runtime === 'mcp') return 'listed when connected';
  const countActions = (risk: CompiledAction['risk']) =>
    Object.values(actions).filter((action) => action.risk === risk).length;
  return `${countActions('read')} read, ${countActions('write')} write, ${countActions('delete')} delete`;
}

function anchorOf({ title }: CompiledTemplate): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
