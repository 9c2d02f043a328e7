/**
 * The part of the WebAssembly types that this component uses. TypeScript declares them only in its
 * `dom` library, which servers do not use.
 */
declare namespace WebAssembly {
  type Module = object;
  class Instance {
    constructor(module: Module, imports: Imports);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  type Imports = Record<string, Record<string, unknown>>;
  function compile(bytes: ArrayBufferView | ArrayBuffer): Promise<Module>;
}
