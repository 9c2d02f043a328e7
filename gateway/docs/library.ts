import { readFileSync } from 'node:fs';

import type { Page } from '#pages';
import { escapeHtml } from '#pages';
import { createOpenapiDocument } from '../http/openapi.ts';
import type { OpenapiDocument } from '../http/openapi.ts';
import { tags } from '../http/openapi-parts.ts';
import { writeApiPage } from './api-page.ts';
import { renderMarkdown, withoutDeadLinks } from './markdown.ts';
import type { Section } from './markdown.ts';

const docsFolder = new URL('../../docs/', import.meta.url);

/**
 * The files of `docs/` that are served, with what each is about, in the order of the list of pages.
 */
export const servedFiles: Readonly<Record<string, string>> = {
  'guides/agent-builder.md': 'for those who write or run agents: from the credential to webhooks',
  'guides/approver-and-owner.md': 'for those who decide about calls, and own agents and services',
  'guides/operator.md':
    'for those who run the gateway: start, settings, backup, monitoring, upgrade',
  'api.md': 'the routes and the MCP tools in prose, with their fields',
  'cli.md': 'the command line `action-gateway`',
  'services.md': 'the built-in services, their actions and risks',
  'writing-templates.md': 'how to write a service template',
  'importing.md': 'how to make a template from an OpenAPI document',
  'operating.md': 'settings, keys, compose, backup, monitoring',
  'kubernetes.md': 'the chart for Kubernetes',
  'performance.md': 'how long calls take, and how to measure it',
  'glossary.md': 'the words of this project',
  'reference/README.md': 'the pages about behaviour',
  'reference/identities.md': 'users, agents, roles, keys, scopes, sign-in, OAuth clients',
  'reference/permissions.md': 'permission keys, rules, denies, authority, dry runs',
  'reference/approvals.md': 'approvals, decisions, remembered rules, the card, executions',
  'reference/calling.md': 'shapes of a call, answers, files, retries, MCP',
  'reference/templates.md': 'templates, services, MCP servers as services, search, import',
  'reference/credentials.md': 'the vault, secrets, connections, provider apps',
  'reference/requests.md': 'what agents ask people for',
  'reference/events.md': 'event types, Server-Sent Events, webhooks',
  'reference/audit.md': 'the record of calls, changes and refusals',
  'reference/errors.md': 'every error code',
  'reference/limits.md': 'limits, rates, shares, lists, compatibility',
  'reference/metrics.md': 'every metric and its labels, and the alert rules',
  'reference/upgrades.md': 'what may change between two releases',
  'reference/security.md': 'threats, and the mechanism against each',
  'reference/reliability.md': 'promises under faults, and how they are tested',
};

/** A page of the documentation, as Markdown and as HTML from the same source. */
export interface DocsPage {
  /** The address of the HTML page. */
  readonly address: string;
  /** The address of the same page as Markdown. */
  readonly twinAddress: string;
  readonly markdown: () => string;
  readonly html: () => Page;
}

export interface Library {
  readonly pages: readonly DocsPage[];
  /**
   * Writes the list of all pages in the format of llmstxt.org. Its addresses begin with the origin.
   */
  readonly writeIndex: (origin: string) => string;
  readonly indexPage: () => Page;
}

/** Collects the fixed set of pages. Each page is read or written when it is first requested. */
export function createLibrary(): Library {
  let openapi: OpenapiDocument | undefined;
  const sources = new Map<string, () => string>();
  for (const [name, description] of Object.entries(tags)) {
    sources.set(apiFileOf(name), () =>
      writeApiPage((openapi ??= createOpenapiDocument()), { name, description }),
    );
  }
  for (const file of Object.keys(servedFiles)) {
    // Generated files begin with a comment for people who edit them; it is removed.
    sources.set(file, () =>
      readFileSync(new URL(file, docsFolder), 'utf8').replace(/^<!--[^>]*-->\s*/, ''),
    );
  }
  const addressOf = (file: string) => (sources.has(file) ? pageAddressOf(file) : undefined);
  const pages = [...sources].map(([file, read]): DocsPage => {
    const markdown = once(() => withoutDeadLinks(read(), { file, addressOf }));
    return {
      address: pageAddressOf(file),
      twinAddress: `/docs/${file}`,
      markdown,
      html: once(() => {
        const { title, html, sections } = renderMarkdown(markdown(), { file, addressOf });
        return createDocsPage(title, `${navigation(`/docs/${file}`)}${contents(sections)}${html}`);
      }),
    };
  });
  const titleOf = (file: string) => /^# (.+)$/m.exec(sources.get(file)?.() ?? '')?.[1] ?? file;
  const writeIndex = (base: string) => {
    const line = ([file, about]: readonly [string, string]) =>
      `- [${titleOf(file)}](${base}${file}): ${about}`;
    return indexOf(
      Object.entries(tags).map(([name, about]) => line([apiFileOf(name), about])),
      Object.entries(servedFiles).map(line),
    );
  };
  return {
    pages,
    writeIndex: (origin) => writeIndex(`${origin}/docs/`),
    indexPage: once(() => {
      const { html } = renderMarkdown(writeIndex(''), { file: 'index.md', addressOf });
      return createDocsPage('Documentation', `${html}${indexNote}`);
    }),
  };
}

const indexNote =
  '<p class="quiet last">Programs read <a href="/llms.txt">/llms.txt</a>, which lists every page as Markdown, and <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>';

function indexOf(apiLines: readonly string[], fileLines: readonly string[]): string {
  const isReference = (line: string) => line.includes('reference/');
  return [
    '# Agent Action Gateway',
    '> The gateway through which AI agents act on third-party APIs for people. Calls that no rule allows wait for a person.',
    '## Guides',
    fileLines.filter((line) => !isReference(line)).join('\n'),
    '## REST API',
    apiLines.join('\n'),
    '## Reference',
    fileLines.filter(isReference).join('\n'),
    '',
  ].join('\n\n');
}

/** The tag `OAuth clients` becomes the file `rest/oauth-clients.md`. */
function apiFileOf(tag: string): string {
  return `rest/${tag.toLowerCase().replaceAll(' ', '-')}.md`;
}

/**
 * The file `reference/errors.md` becomes `/docs/reference/errors`, and `reference/README.md`
 * becomes `/docs/reference`.
 */
function pageAddressOf(file: string): string {
  return `/docs/${file}`.replace(/(\/README)?\.md$/, '');
}

function navigation(twinAddress: string): string {
  return `<nav aria-label="Documentation"><a href="/docs">All pages</a> <a href="${escapeHtml(twinAddress)}">As Markdown</a></nav>`;
}

function contents(sections: readonly Section[]): string {
  if (sections.length < 3) return '';
  const lines = sections.map(
    ({ anchor, title }) => `<li><a href="#${escapeHtml(anchor)}">${escapeHtml(title)}</a></li>`,
  );
  return `<details><summary>On this page</summary><ul>${lines.join('')}</ul></details>`;
}

function createDocsPage(title: string, content: string): Page {
  return { title, content, isDocument: true };
}

function once<T>(make: () => T): () => T {
  let cached: { readonly value: T } | undefined;
  return () => (cached ??= { value: make() }).value;
}
