package openlineage.pyspark;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.HashSet;

/** Reads what has no common type across the Spark versions: by method name, and only through getters. */
final class Reflection {
  // Class -> name -> its member.
  private static final HashMap METHODS = new HashMap();
  private static final HashMap FIELDS = new HashMap();
  private static final HashMap NAMES = new HashMap();
  private static final Object ABSENT = new Object();

  static boolean has(Object o, String name) {
    return method(o.getClass(), name) != null;
  }

  /** Returns what a getter returns; null if there is no such getter, or it throws. */
  static Object call(Object o, String name) {
    if (o == null) return null;
    Method method = method(o.getClass(), name);
    if (method == null) return null;
    try {
      return method.invoke(o, new Object[0]);
    } catch (Exception refused) {
      return null;
    } catch (LinkageError refused) {
      return null;
    }
  }

  /** Returns a constructor parameter that a class or one of its superclasses keeps as a private field. */
  static Object field(Object o, String name) {
    Field field = o == null ? null : declared(o.getClass(), name);
    try {
      return field == null ? null : field.get(o);
    } catch (IllegalAccessException closed) {
      return null;
    }
  }

  private static synchronized Field declared(Class type, String name) {
    HashMap members = members(FIELDS, type);
    Object known = members.get(name);
    if (known == null) {
      known = search(type, name);
      members.put(name, known == null ? ABSENT : known);
    }
    return known == ABSENT ? null : (Field) known;
  }

  private static Field search(Class type, String name) {
    for (Class c = type; c != null; c = c.getSuperclass()) {
      Field[] fields = c.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (!fields[i].getName().equals(name) && !fields[i].getName().endsWith("$$" + name)) continue;
        try {
          fields[i].setAccessible(true);
          return fields[i];
        } catch (RuntimeException closed) {
          return null;
        }
      }
    }
    return null;
  }

  private static HashMap members(HashMap byClass, Class type) {
    HashMap members = (HashMap) byClass.get(type);
    if (members == null) {
      members = new HashMap();
      byClass.put(type, members);
    }
    return members;
  }

  private static synchronized Method method(Class type, String name) {
    HashMap members = members(METHODS, type);
    Object known = members.get(name);
    if (known == null) {
      known = find(type, name);
      members.put(name, known == null ? ABSENT : known);
    }
    return known == ABSENT ? null : (Method) known;
  }

  /** Returns the public method of that name that takes only this argument; null if there is none. */
  static synchronized Method method(Class type, String name, Object argument) {
    HashMap members = members(METHODS, type);
    String key = name + "(" + argument.getClass().getName() + ")";
    Object known = members.get(key);
    if (known == null) {
      known = find(type.getMethods(), name, argument);
      members.put(key, known == null ? ABSENT : known);
    }
    return known == ABSENT ? null : (Method) known;
  }

  private static Method find(Method[] methods, String name, Object argument) {
    for (int i = 0; i < methods.length; i++) {
      Class[] parameters = methods[i].getParameterTypes();
      boolean fits = methods[i].getName().equals(name) && parameters.length == 1;
      if (fits && parameters[0].isInstance(argument)) return methods[i];
    }
    return null;
  }

  private static Method find(Class type, String name) {
    for (Class c = type; c != null; c = c.getSuperclass()) {
      try {
        Method found = c == type ? open(c, name) : c.getDeclaredMethod(name, new Class[0]);
        found.setAccessible(true);
        return found;
      } catch (NoSuchMethodException absent) {
        continue;
      } catch (RuntimeException closed) {
        continue;
      } catch (LinkageError broken) {
        continue;
      }
    }
    return null;
  }

  private static Method open(Class type, String name) throws NoSuchMethodException {
    try {
      return type.getMethod(name, new Class[0]);
    } catch (NoSuchMethodException own) {
      return type.getDeclaredMethod(name, new Class[0]);
    }
  }

  /** Returns the names of the arguments of a case class. */
  static synchronized String[] elementNames(Object product) {
    String[] names = (String[]) NAMES.get(product.getClass());
    if (names != null) return names;
    names = new String[((scala.Product) product).productArity()];
    for (int i = 0; i < names.length; i++) names[i] = "_" + i;
    try {
      Method byPlace = product.getClass().getMethod("productElementName", new Class[] {Integer.TYPE});
      for (int i = 0; i < names.length; i++) names[i] = elementName(byPlace, product, i);
    } catch (NoSuchMethodException scala212) {
      fromFields(product, names);
    }
    NAMES.put(product.getClass(), names);
    return names;
  }

  private static String elementName(Method byPlace, Object product, int place) {
    try {
      return String.valueOf(byPlace.invoke(product, new Object[] {Integer.valueOf(place)}));
    } catch (Exception unnamed) {
      return "_" + place;
    }
  }

  /** Scala 2.12 keeps the parameters of a case class as fields, in order, after those of its lazy values. */
  private static void fromFields(Object product, String[] names) {
    HashSet lazy = new HashSet();
    Method[] methods = product.getClass().getDeclaredMethods();
    for (int i = 0; i < methods.length; i++) {
      String name = methods[i].getName();
      if (name.endsWith("$lzycompute")) lazy.add(name.substring(0, name.length() - "$lzycompute".length()));
    }
    Field[] fields = product.getClass().getDeclaredFields();
    int at = 0;
    for (int i = 0; i < fields.length && at < names.length; i++) {
      String name = fields[i].getName();
      boolean parameter = !Modifier.isStatic(fields[i].getModifiers()) && !name.startsWith("bitmap$");
      if (!parameter || lazy.contains(name)) continue;
      int qualified = name.lastIndexOf("$$");
      names[at++] = qualified < 0 ? name : name.substring(qualified + 2);
    }
  }
}
