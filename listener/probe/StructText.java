package openlineage.pyspark;

import java.util.ArrayList;
import java.util.List;

/**
 * The text of a struct that an expression builds, and those of its fields, each as parts of an `ExpressionText`: an
 * expression that reads a field does not need the whole struct.
 */
final class StructText {
  final List whole;
  final ArrayList names = new ArrayList();
  final ArrayList values = new ArrayList();

  StructText(List whole) {
    this.whole = whole;
  }

  void add(String name, List value) {
    names.add(name);
    values.add(value);
  }
}
