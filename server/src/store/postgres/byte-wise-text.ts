import {
  type DataTypeNode,
  type KyselyPlugin,
  type OperationNode,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  RawNode,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely';

/**
 * Columns of text get the collation C whatever that of the database is: names are ordered, compared and told apart by their bytes, as in
 * SQLite. For migrations, which say `text`.
 */
export class ByteWiseText implements KyselyPlugin {
  readonly #transformer = new TextTransformer();

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(node);
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result;
  }
}

class TextTransformer extends OperationNodeTransformer {
  protected override transformNodeImpl<Node extends OperationNode>(node: Node): Node {
    const transformed = super.transformNodeImpl(node);
    if (!isText(transformed)) return transformed;
    // The schema builder also accepts a type as raw SQL.
    return RawNode.createWithSql('text collate "C"') as OperationNode as Node;
  }
}

function isText(node: OperationNode): node is DataTypeNode {
  return node.kind === 'DataTypeNode' && 'dataType' in node && node.dataType === 'text';
}
