import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, test } from 'vitest';

import { compileParsed, compileTemplate } from '../compiler/domain/template.ts';
import { convertDocument } from '../import/domain/convert-document.ts';
import { rankActions } from './domain/search-rank.ts';
import type { SearchSource } from './domain/search-index.ts';
import { termsOf } from './domain/search-terms.ts';
import { createSearchIndexes } from './search-indexes.ts';

// A document as frameworks generate it: operation ids and one line for each operation, and none of
// the words that people ask by (`x-service-intents`), which built-in templates have.

const operation = (operationId: string, summary: string, parameters: string[] = []) => ({
  operationId,
  summary,
  parameters: parameters.map((name) => ({
    name,
    in: name.endsWith('Id') ? 'path' : 'query',
    required: name.endsWith('Id'),
    schema: { type: 'string' },
  })),
  responses: { '200': { description: 'OK' } },
});
const document = {
  openapi: '3.0.3',
  info: { title: 'Fleet Manager', version: '1.4.0', description: 'Vehicles, drivers and trips.' },
  servers: [{ url: 'https://fleet.example/api' }],
  paths: {
    '/vehicles': {
      get: operation('listVehicles', 'List vehicles', ['status']),
      post: operation('registerVehicle', 'Register a vehicle'),
    },
    '/vehicles/{vehicleId}': {
      get: operation('getVehicle', 'Get a vehicle', ['vehicleId']),
      delete: operation('retireVehicle', 'Retire a vehicle', ['vehicleId']),
    },
    '/vehicles/{vehicleId}/location': {
      get: operation('getVehicleLocation', 'Get the current location of a vehicle', ['vehicleId']),
    },
    '/vehicles/{vehicleId}/maintenance': {
      post: operation('scheduleMaintenance', 'Schedule maintenance for a vehicle', ['vehicleId']),
    },
    '/drivers': { get: operation('listDrivers', 'List drivers', ['licenceClass']) },
    '/drivers/{driverId}/assignments': {
      post: operation('assignDriver', 'Assign a driver to a vehicle', ['driverId']),
    },
    '/trips': { get: operation('searchTrips', 'Search trips', ['from', 'to', 'vehicle']) },
    '/fuel-cards/{cardId}/block': {
      post: operation('blockFuelCard', 'Block a fuel card', ['cardId']),
    },
  },
};

const importedTemplate = () => {
  const imported = convertDocument({ text: JSON.stringify(document) });
  if (!imported.ok) throw new Error(JSON.stringify(imported.findings));
  const options = { tier: 'org', ownerId: null, version: 1, isDraft: true } as const;
  const { template } = compileParsed(imported.document, options);
  if (template === undefined) throw new Error('the imported document does not compile');
  return template;
};
const builtInTemplate = (key: string) => {
  const text = readFileSync(
    new URL(`../../service-templates/${key}.yaml`, import.meta.url),
    'utf8',
  );
  const { template } = compileTemplate(text, { tier: 'global', ownerId: null, version: 1 });
  if (template === undefined) throw new Error(`${key} does not compile`);
  return template;
};

interface Named extends SearchSource {
  readonly name: string;
}
const indexes = createSearchIndexes();
let alone: Named[];
let besideOthers: Named[];
beforeAll(async () => {
  const templates = [importedTemplate(), builtInTemplate('github'), builtInTemplate('gmail')];
  besideOthers = await Promise.all(
    templates.map(async (template) => ({
      name: template.key,
      index: await indexes.get(template.key, async () => template),
      names: [termsOf(template.key), termsOf(template.title)],
      isConnected: true,
    })),
  );
  alone = besideOthers.slice(0, 1);
});
const find = (query: string, sources: readonly Named[]) =>
  rankActions(query, sources, { limit: 10, vocabulary: indexes });

describe.each([
  ['alone', () => alone],
  ['beside built-in services', () => besideOthers],
])('an imported service without words to search by, %s', (_, sources) => {
  test.for<[query: string, action: string]>([
    ['which vehicles do we have?', 'listVehicles'],
    ['where is the blue van right now? I need its location', 'getVehicleLocation'],
    ['we bought a truck, add it to our vehicles', 'registerVehicle'],
    ['vehicle 7 was scrapped, please retire it', 'retireVehicle'],
    ['the brakes squeak, book maintenance for next Tuesday', 'scheduleMaintenance'],
    ['who are our drivers with a licence for lorries?', 'listDrivers'],
    ['assign Tom to the red van', 'assignDriver'],
    ['how many trips did Maria make to Porto last week?', 'searchTrips'],
    ['somebody stole a fuel card, stop it from being used', 'blockFuelCard'],
    ['what are the details of vehicle 42?', 'getVehicle'],
  ])('is found by "%s" with %s', ([query, action]) => {
    const found = find(query, sources()).map(({ action: { key } }) => key);
    expect(found.slice(0, 3)).toContain(action);
  });

  test.for([
    'is it going to rain in Lisbon tomorrow?',
    'book me a table for four at an Italian restaurant tonight',
    'translate this paragraph into Portuguese',
    'turn the heating down to 18 degrees',
    'what is the square root of 1764?',
    'order two large pizzas to the office',
    'play some jazz in the kitchen',
    'how much is one euro in yen?',
    'remind me to call my mother on Sunday',
    'write a poem about autumn leaves',
  ])('answers nothing to "%s"', (query) => {
    const found = find(query, sources()).filter(({ source }) => source.name === 'fleet_manager');
    expect(found.map(({ action: { key } }) => key)).toEqual([]);
  });
});
