import { readFile } from 'node:fs/promises';

import { expect, test } from 'vitest';

import { createSbom } from './sbom.ts';

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { license?: { id?: string; name?: string }; expression?: string }[];
  readonly hashes: readonly { alg: string; content: string }[];
}
const rootFile = new URL('../package-lock.json', import.meta.url);

test('the bill of materials contains every package that a release ships or installs, with its licence and hash', async () => {
  const { version, packages } = JSON.parse(await readFile(rootFile, 'utf8')) as {
    version: string;
    packages: Record<string, { version: string; dev?: boolean }>;
  };
  const bill = JSON.parse(await createSbom());

  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: expect.stringMatching(/^1\.\d$/),
    metadata: { component: { name: 'agent-action-gateway', version } },
  });
  const components = bill.components as readonly Component[];
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const wanted = shipped.map(
    ([path, each]) => `${path.split('node_modules/').at(-1)}@${each.version}`,
  );
  expect([...new Set(wanted)].toSorted()).toEqual(
    [...new Set(components.map((each) => `${each.name}@${each.version}`))].toSorted(),
  );
  for (const { name, purl, licenses, hashes } of components) {
    expect(purl).toMatch(/^pkg:npm\//);
    expect(
      licenses.map(({ license, expression }) => expression ?? license?.id),
      name,
    ).toEqual([expect.any(String)]);
    expect(hashes, name).toContainEqual({
      alg: 'SHA-512',
      content: expect.stringMatching(/^[0-9a-f]{128}$/),
    });
  }
});
