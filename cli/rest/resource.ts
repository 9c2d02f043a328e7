import type { Cell } from './output.ts';

/** How a command finds what a person names. */
export interface Findable<Item> {
  /** What a person calls one: `agent`. */
  readonly one: string;
  /** The word of its commands: `agents`. */
  readonly many: string;
  /** Its path in the API; below the path of `parent`, where there is one. */
  readonly path: string;
  /** Where its entries are, when not below `path`. */
  readonly itemPath?: string;
  /** What it belongs to; its commands name that first: `keys list <agent>`. */
  readonly parent?: Findable<never>;
  /** The names that stand for its id. Without it, what a person types goes into the path. */
  readonly namesOf?: (item: Item) => readonly (string | null | undefined)[];
}

/** One kind of thing that the API lists, shows and deletes. */
export interface Resource<Item> extends Findable<Item> {
  /** Chooses and orders the entries of the whole list, where the API does not. */
  readonly arrange?: (items: readonly Item[]) => Item[];
  /** The columns of its table, by their titles. */
  readonly columns: Readonly<Record<string, (item: Item) => Cell>>;
}

/** How a command changes an entry: it sends a request and says that it is done. */
export interface Change {
  /** The word of the command. */
  readonly verb: string;
  /** The request: DELETE of the entry, or POST to this word below it. */
  readonly post?: string;
  /** The sentence that is printed, without the name of the entry before it: `is deleted`. */
  readonly done: string;
  /** Whether nothing brings the entry back, so that a person has to confirm. */
  readonly isFinal?: true;
}
