package openlineage.pyspark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;

/** The field of an attribute, in the text of an expression: `address.place.zip`. */
final class FieldText {
  final Attribute attribute;
  /** The names of the fields, the outermost first. */
  final List path;

  FieldText(Attribute attribute, List path) {
    this.attribute = attribute;
    this.path = path;
  }

  /** Returns a field of an attribute, or of a field of one. */
  static FieldText of(Object part, String name) {
    if (part instanceof Attribute) return new FieldText((Attribute) part, Collections.singletonList(name));
    ArrayList path = new ArrayList(((FieldText) part).path);
    path.add(name);
    return new FieldText(((FieldText) part).attribute, path);
  }
}
