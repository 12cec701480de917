/** Asks PostgreSQL what a statement would return, without running it. */
import pg from "pg";

/** A column of a statement's result, and the table's column that it shows. 0 for an expression. */
export interface DescribedColumn {
  readonly name: string;
  readonly typeId: number;
  readonly tableId: number;
  readonly columnId: number;
}

/** The driver's connection, of whose protocol its types know nothing. */
interface Protocol {
  parse(statement: { readonly text: string; readonly types: readonly number[] }): void;
  describe(what: { readonly type: "S"; readonly name: string }): void;
  sync(): void;
}

/** A field of the protocol's RowDescription. */
interface Field {
  readonly name: string;
  readonly dataTypeID: number;
  readonly tableID: number;
  readonly columnID: number;
}

/** Returns the columns of a statement. None if it returns no rows. */
export async function describeStatement(
  client: pg.ClientBase,
  text: string,
): Promise<readonly DescribedColumn[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly DescribedColumn[]>();
  let columns: readonly DescribedColumn[] = [];
  const description = {
    submit: (connection: Protocol) => {
      connection.parse({ text, types: [] });
      connection.describe({ type: "S", name: "" });
      connection.sync();
    },
    handleRowDescription: ({ fields }: { readonly fields: readonly Field[] }) => {
      columns = fields.map(({ name, dataTypeID, tableID, columnID }) => ({
        name,
        typeId: dataTypeID,
        tableId: tableID,
        columnId: columnID,
      }));
    },
    handleError: reject,
    handleReadyForQuery: () => resolve(columns),
  };
  // The driver's own method, which takes what the protocol allows.
  Reflect.apply(pg.Client.prototype.query, client, [description]);
  return promise;
}
