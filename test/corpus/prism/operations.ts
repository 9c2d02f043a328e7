import type { PublishedDocument } from '../../support/prism.ts';

/** One operation of a published document. */
export interface Operation {
  readonly path: string;
  readonly method: string;
}

const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'];

export function operationsOf(document: PublishedDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => Object.hasOwn(item as object, method))
      .map((method) => ({ path, method })),
  );
}
