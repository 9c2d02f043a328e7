import { readFileSync, readdirSync } from 'node:fs';

import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { compileTemplate } from '../registry/domain/template.ts';

const folder = new URL('../service-templates/', import.meta.url);

/** `docs/services.md`: the built-in templates, how each authenticates, its actions and their risk. */
export function renderCatalogue(): string {
  const templates = readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => compile(name))
    .toSorted((left, right) => left.title.localeCompare(right.title, 'en'));
  const amount = templates.reduce((sum, { actions }) => sum + Object.keys(actions).length, 0);
  const lines = [
    '# Built-in services',
    '',
    `${templates.length} templates with ${amount} actions. Made from [service-templates](../service-templates) by \`npm run generate\`;`,
    '[writing-templates.md](writing-templates.md) says how to write one.',
    '',
    '| Template | Category | Authentication | Actions |',
    '|---|---|---|---|',
    ...templates.map(
      (template) =>
        `| [${template.title}](#${anchorOf(template)}) \`${template.key}\` | ${template.category} | ${authOf(template)} | ${countsOf(template)} |`,
    ),
    ...templates.flatMap(sectionOf),
  ];
  return `${lines.join('\n')}\n`;
}

function compile(name: string): CompiledTemplate {
  const text = readFileSync(new URL(name, folder), 'utf8');
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
    '| Action | Risk | What it does | Permission is for |',
    '|---|---|---|---|',
    ...Object.values(template.actions).map(rowOf),
  ];
}

/** What an MCP server offers is found when it is connected; what we say of it beforehand is this. */
function serverSectionOf({ title, description, mcp }: CompiledTemplate): string[] {
  const named = Object.entries(mcp?.overrides ?? {});
  const namesOf = (risk: string) =>
    named.filter(([, tool]) => tool.risk === risk).map(([name]) => `\`${name}\``);
  return [
    '',
    `## ${title}`,
    '',
    `${description} By its own MCP server, whose tools are found when it is connected.`,
    '',
    `Reads: ${namesOf('read').join(', ')}. Writes: ${namesOf('write').join(', ')}, and every tool not named here.`,
  ];
}

function rowOf({ key, risk, summary, scopeParam }: CompiledAction): string {
  const cells = [
    `\`${key}\``,
    risk,
    summary,
    scopeParam === null ? 'the action' : `one \`${scopeParam}\``,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function authOf(template: CompiledTemplate): string {
  const kinds = template.auth.map((method) =>
    method.type === 'oauth2' ? `OAuth (${method.provider})` : 'secret',
  );
  return kinds.length === 0 ? 'none' : [...new Set(kinds)].join(', ');
}

function countsOf({ actions, runtime }: CompiledTemplate): string {
  if (runtime === 'mcp') return 'found when connected';
  const count = (risk: CompiledAction['risk']) =>
    Object.values(actions).filter((action) => action.risk === risk).length;
  return `${count('read')} read, ${count('write')} write, ${count('delete')} delete`;
}

function anchorOf({ title }: CompiledTemplate): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');
}
