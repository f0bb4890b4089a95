package openlineage.pyspark;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import java.io.IOException;

/** Generates JSON as text, with the Jackson that Spark ships. Its texts never contain a line break. */
final class JsonText extends JsonGeneratorDelegate {
  /** Characters above this are escaped: a Java string may contain a lone surrogate, which can't be sent as UTF-8. */
  private static final int HIGHEST_PLAIN = 0xd7ff;
  private static final JsonFactory FACTORY = new JsonFactory().setRootValueSeparator(null);
  private final TextWriter text;

  JsonText() throws IOException {
    this(new TextWriter());
  }

  private JsonText(TextWriter text) throws IOException {
    super(FACTORY.createGenerator(text));
    this.text = text;
    setHighestNonEscapedChar(HIGHEST_PLAIN);
  }

  /** Begins a record of this kind. */
  static JsonText record(String kind) throws IOException {
    JsonText record = new JsonText();
    record.writeStartObject();
    record.writeStringField("k", kind);
    return record;
  }

  /** Writes a field whose value already is JSON. */
  void writeRawField(String name, String json) throws IOException {
    writeFieldName(name);
    writeRawValue(json);
  }

  /** Writes a field with the text of a value, unless the value is null. */
  void writeTextField(String name, Object value) throws IOException {
    if (value != null) writeStringField(name, value.toString());
  }

  /** Writes a field with a whole number, or with a text that spells one; nothing for any other value. */
  void writeWholeField(String name, Object value) throws IOException {
    if (value == null) return;
    long number;
    try {
      number = Long.parseLong(value.toString());
    } catch (NumberFormatException foreign) {
      return;
    }
    writeNumberField(name, number);
  }

  /** Returns how many characters were written. */
  long length() {
    return (long) text.length() + getOutputBuffered();
  }

  /** Returns a writer that continues at this length of the text; what was written after it is discarded. */
  JsonText from(long length) throws IOException {
    flush();
    text.cut((int) length);
    return new JsonText(text);
  }

  /** Closes all open objects and arrays, and returns the text. */
  String end() throws IOException {
    close();
    return text.toString();
  }

  static String cut(String s, int most) {
    return s == null || s.length() <= most ? s : s.substring(0, most) + "...";
  }
}
