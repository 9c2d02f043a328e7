import { z } from 'zod';

import type { Template } from '#contracts/http/services';
import { actionDescription } from '#contracts/http/services';
import { risk } from '#contracts/vocabulary';
import { search } from '../../domain/search.ts';
import type { Searchable } from '../../domain/search.ts';
import { listTemplates, readServices } from '../catalog.ts';
import type { ServiceDetail } from '../catalog.ts';
import { defineTool, result } from '../tool.ts';
import type { Structured } from '../tool.ts';

const limitDefault = 10;
/** Enough that an agent needs no second look-up for what it most likely wants. */
const schemasMax = 5;
const descriptionCharactersMax = 300;

const row = z.looseObject({
  service: z.string().nullable().describe('What to pass as service; null: not connected yet.'),
  template: z.string(),
  action: z.string().optional().describe('What to pass as action; absent: the service itself.'),
  description: z.string(),
  risk: risk.optional().describe('read: service_read is enough. Others may need approval.'),
  score: z.number().optional(),
  params_schema: actionDescription.shape.params_schema.optional(),
  actions_count: z.int().optional(),
  auth: z
    .looseObject({ type: z.enum(['none', 'secret']), connected: z.boolean() })
    .optional()
    .describe('connected false: its credentials are missing.'),
});

export const serviceSearch = defineTool('service_search', {
  title: 'Find services and actions',
  description:
    'Finds actions of the connected services by what they do, such as "create issue". Start here: the rows carry service, action and risk as service_read and service_call take them, and the first five the schema of their params. Without query it lists the connected services. With catalog it also names services that could be connected.',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: z.strictObject({
    query: z.string().max(300).describe('A few words; all services without it.').optional(),
    catalog: z.boolean().describe('Also what is not connected. Default false.').optional(),
    limit: z.int().min(1).max(50).describe(`Default ${limitDefault}.`).optional(),
  }),
  output: { results: z.array(row), total: z.int().describe('How many there are in all.') },
  tag: 'results',
  scope: 'actions:read',
  run: async ({ query = '', catalog = false, limit = limitDefault }, { deps, caller }) => {
    const { principal } = caller;
    const services = await readServices(deps.registry, principal);
    const connected = new Set(services.map(({ template }) => template));
    const templates = catalog
      ? (await listTemplates(deps.registry, principal)).filter(({ key }) => !connected.has(key))
      : [];
    const rows =
      query.trim() === ''
        ? [...services.map(serviceRow), ...templates.map(templateRow)]
        : find({ services, templates, query });
    return result({
      results: rows.slice(0, limit).map((each, index) => trimmed(each, index)),
      total: rows.length,
    });
  },
});

type Row = Structured;

function find({
  services,
  templates,
  query,
}: {
  services: readonly ServiceDetail[];
  templates: readonly Template[];
  query: string;
}): Row[] {
  const found = [
    ...search(services.flatMap(actionsOf), query),
    // What is connected comes first.
    ...search(templates.map(searchableTemplate), query),
  ];
  return found.map(({ item, score }) => ({ ...item, score }));
}

function actionsOf(service: ServiceDetail): Searchable<Row>[] {
  return service.actions.map(({ action, summary, risk, params_schema }) => ({
    item: {
      service: service.name,
      template: service.template,
      action,
      description: short(summary),
      risk,
      params_schema,
      auth: authOf(service),
    },
    fields: [
      { text: action, weight: 1 },
      { text: summary, weight: 0.8 },
      { text: `${service.name} ${service.title} ${service.template}`, weight: 0.6 },
    ],
  }));
}

function searchableTemplate(template: Template): Searchable<Row> {
  return {
    item: templateRow(template),
    fields: [
      { text: `${template.key} ${template.title}`, weight: 1 },
      { text: `${template.category} ${template.description}`, weight: 0.6 },
    ],
  };
}

function serviceRow(service: ServiceDetail): Row {
  return {
    service: service.name,
    template: service.template,
    description: short(`${service.title}: ${service.description}`),
    actions_count: service.actions_count,
    auth: authOf(service),
  };
}

function templateRow({ key, title, description, actions_count }: Template): Row {
  return {
    service: null,
    template: key,
    description: short(`${title}: ${description}`),
    actions_count,
  };
}

function authOf({ credentials, status }: ServiceDetail): Row {
  const type = Object.keys(credentials.secrets).length === 0 ? 'none' : 'secret';
  return { type, connected: status === 'ready' };
}

function trimmed({ params_schema, ...rest }: Row, index: number): Row {
  return index < schemasMax && params_schema !== undefined ? { ...rest, params_schema } : rest;
}

function short(text: string): string {
  return text.length <= descriptionCharactersMax
    ? text
    : `${text.slice(0, descriptionCharactersMax)}…`;
}
